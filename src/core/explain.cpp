#include "explain.hpp"

#include "calendar.hpp"
#include "text.hpp"

#include <cassert>
#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t end_of_9999_us = 253402300800000000;

class Pen {
public:
    explicit Pen(char* at) : start_(at), at_(at), line_(at) {}

    void character(char c, int times = 1)
    {
        while (times-- > 0) {
            *at_++ = c;
        }
    }

    void text(const char* s)
    {
        const size_t length = strlen(s);
        memcpy(at_, s, length);
        at_ += length;
    }

    void number(uint64_t value) { at_ += write_decimal(value, at_); }

    void signed_number(uint64_t value)
    {
        if (static_cast<int64_t>(value) < 0) {
            character('-');
            value = 0 - value;
        }
        number(value);
    }

    void bits(uint64_t word, int from, int to)
    {
        for (int bit = from; bit >= to; bit--) {
            character(static_cast<char>('0' + (word >> bit & 1)));
        }
    }

    // Spaces up to a column, and at least one.
    void tab(long column)
    {
        do {
            character(' ');
        } while (at_ - line_ < column);
    }

    void end_line()
    {
        character('\n');
        line_ = at_;
    }

    size_t finish()
    {
        *at_ = '\0';
        return static_cast<size_t>(at_ - start_);
    }

private:
    char* start_;
    char* at_;
    char* line_;
};

constexpr long margin = 8; // where the bits and the names of the fields begin

char letter(int field)
{
    return static_cast<char>('a' + field);
}

void explain_time(Pen& pen, const Layout& layout, Tick tick)
{
    int64_t us;
    if (tick_start_us(layout, tick, &us) && us < end_of_9999_us) {
        char moment[moment_text_size];
        format_moment(us, moment);
        pen.text("  ");
        pen.text(moment);
    }
}

} // namespace

size_t explain_id(const Layout& layout, uint64_t id, uint64_t raw, char* out)
{
    Pen pen(out);
    char text[max_layout_text];
    format_layout(layout, text);
    pen.text("id");
    pen.tab(margin);
    pen.signed_number(id);
    pen.end_line();
    if (layout.enciphered) {
        pen.text("raw id");
        pen.tab(margin);
        pen.signed_number(raw);
        pen.end_line();
    }
    pen.text("layout");
    pen.tab(margin);
    pen.text(text);
    pen.end_line();
    pen.end_line();

    const int unused = word_bits - layout.bits;
    pen.text("bits");
    pen.tab(margin);
    pen.bits(raw, word_bits - 1, layout.bits);
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        pen.character(' ', i > 0 || unused > 0);
        pen.bits(raw, field.shift + field.bits - 1, field.shift);
    }
    pen.end_line();
    pen.tab(margin);
    pen.character(' ', unused);
    for (int i = 0; i < layout.field_count; i++) {
        pen.character(' ', i > 0 || unused > 0);
        pen.character(letter(i), layout.fields[i].bits);
    }
    pen.end_line();
    pen.end_line();

    long widest = 0;
    int node_fields = 0;
    for (int i = 0; i < layout.field_count; i++) {
        const auto length = static_cast<long>(strlen(layout.fields[i].name));
        widest = length > widest ? length : widest;
        node_fields += layout.fields[i].kind == FieldKind::node;
    }
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        const uint64_t value = field_value(field, raw);
        pen.character(' ', 6);
        pen.character(letter(i));
        pen.tab(margin);
        pen.text(field.name);
        pen.tab(margin + widest + 2);
        pen.number(field.bits);
        pen.text(field.bits == 1 ? " bit" : " bits");
        pen.tab(margin + widest + 12);
        pen.number(field.shift + field.bits - 1U);
        pen.text("..");
        pen.number(field.shift);
        pen.tab(margin + widest + 20);
        pen.number(value);
        if (field.kind == FieldKind::time) {
            explain_time(pen, layout, Tick{value});
        }
        pen.end_line();
    }
    if (node_fields > 1) {
        pen.tab(margin);
        pen.text("node");
        pen.tab(margin + widest + 20);
        pen.number(split(layout, raw).node);
        pen.end_line();
    }
    const size_t length = pen.finish();
    assert(length < max_drawing);
    return length;
}

} // namespace flakeid
