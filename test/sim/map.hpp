// A map from ids, fast enough for millions of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

template <typename Value>
class IdMap {
public:
    void clear()
    {
        places_.assign(1 << 12, Place{});
        count_ = 0;
    }

    // nullptr when it is new; otherwise what stands there.
    Value* add(uint64_t id, const Value& value)
    {
        if (count_ * 2 >= places_.size()) {
            grow();
        }
        Place& place = find(id);
        if (place.taken) {
            return &place.value;
        }
        place = {id, true, value};
        count_++;
        return nullptr;
    }

private:
    struct Place {
        uint64_t id = 0;
        bool taken = false;
        Value value{};
    };

    Place& find(uint64_t id)
    {
        const size_t mask = places_.size() - 1;
        size_t at = static_cast<size_t>((id * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & mask;
        while (places_[at].taken && places_[at].id != id) {
            at = (at + 1) & mask;
        }
        return places_[at];
    }

    void grow()
    {
        std::vector<Place> before(places_.empty() ? 1 << 12 : places_.size() * 2);
        before.swap(places_);
        for (const Place& place : before) {
            if (place.taken) {
                find(place.id) = place;
            }
        }
    }

    std::vector<Place> places_;
    size_t count_ = 0;
};

} // namespace sim
