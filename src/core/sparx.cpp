#include "sparx.hpp"

namespace flakeid {

namespace {

// The same word of eight blocks, side by side. gcc and clang make do without 128-bit registers too.
constexpr size_t lanes = 8;
typedef uint16_t Lanes __attribute__((vector_size(2 * lanes)));

// The functions of a Word serve one block as uint16_t, and eight as Lanes.

template <typename Word>
inline Word rotate_left(Word x, int n)
{
    return static_cast<Word>((x << n) | (x >> (16 - n)));
}

// One of the two halves of a block.
template <typename Word>
struct Branch {
    Word left, right;
};

// The SPECKEY round.
template <typename Word>
inline void mix_words(Word& left, Word& right)
{
    left = static_cast<Word>(rotate_left(left, 9) + right);
    right = static_cast<Word>(rotate_left(right, 2) ^ left);
}

template <typename Word>
inline Branch<Word> rounds_forward(Branch<Word> x, const uint16_t* key)
{
#pragma GCC unroll 3
    for (int round = 0; round < sparx_rounds; round++) {
        x.left = static_cast<Word>(x.left ^ key[2 * round]);
        x.right = static_cast<Word>(x.right ^ key[2 * round + 1]);
        mix_words(x.left, x.right);
    }
    return x;
}

// The inverse of a round turns the sum of the two words to get the right one.
inline uint16_t turn(uint16_t sum)
{
    return rotate_left(sum, 14);
}

inline uint16_t turn_back(uint16_t turned)
{
    return rotate_left(turned, 2);
}

// One of the two halves of a block that is deciphered, and the sum of its words, turned.
struct Summed {
    Branch<uint16_t> words;
    uint16_t sum;
};

inline Summed with_sum(Branch<uint16_t> x)
{
    return {x, turn(x.left ^ x.right)};
}

// The inverse of rounds_forward. The next round's sum is made out of its parts before the left
// word, which everything else waits for, is known.
inline Summed rounds_backward(Summed x, const uint16_t* key, const uint16_t* key_sum)
{
#pragma GCC unroll 3
    for (int round = sparx_rounds - 1; round >= 0; round--) {
        const uint16_t left = rotate_left(static_cast<uint16_t>(x.words.left - x.sum), 7);
        x.words.left = left ^ key[2 * round];
        x.words.right = x.sum ^ key[2 * round + 1];
        x.sum = turn(left) ^ turn(x.sum ^ key_sum[round]);
    }
    return x;
}

// What the step between the rounds adds to `other`; `sum` is that of the words of `x`.
template <typename Word>
inline Branch<Word> add_linear(Branch<Word> other, Branch<Word> x, Word sum)
{
    const Word spread = rotate_left(sum, 8);
    return {static_cast<Word>(other.left ^ x.left ^ spread),
            static_cast<Word>(other.right ^ x.right ^ spread)};
}

template <typename Word>
struct Block {
    Branch<Word> a, b;
};

template <typename Word>
inline Block<Word> add_key(Block<Word> block, const uint16_t* key)
{
    return {{static_cast<Word>(block.a.left ^ key[0]), static_cast<Word>(block.a.right ^ key[1])},
            {static_cast<Word>(block.b.left ^ key[2]), static_cast<Word>(block.b.right ^ key[3])}};
}

template <typename Word>
inline Block<Word> encrypt_block(const SparxKey& key, Block<Word> block)
{
    for (int step = 0; step < sparx_steps; step++) {
        const Branch<Word> a = rounds_forward(block.a, key.round[sparx_branches * step]);
        const Branch<Word> b = rounds_forward(block.b, key.round[sparx_branches * step + 1]);
        block = {add_linear(b, a, static_cast<Word>(a.left ^ a.right)), a};
    }
    return add_key(block, key.round[sparx_branches * sparx_steps]);
}

inline Block<uint16_t> decrypt_block(const SparxKey& key, Block<uint16_t> block)
{
    block = add_key(block, key.round[sparx_branches * sparx_steps]);
    Summed a = with_sum(block.a);
    Summed b = with_sum(block.b);
#pragma GCC unroll 8
    for (int step = sparx_steps - 1; step >= 0; step--) {
        const int i = sparx_branches * step;
        // What add_linear() spreads goes into both words, and so not into their sum.
        const Summed other = {add_linear(a.words, b.words, turn_back(b.sum)),
                              static_cast<uint16_t>(a.sum ^ b.sum)};
        a = rounds_backward(b, key.round[i], key.sum[i]);
        b = rounds_backward(other, key.round[i + 1], key.sum[i + 1]);
    }
    return {a.words, b.words};
}

// The low byte of the number is the first byte of the block, and the high byte of its 16-bit word.
inline uint16_t block_word(uint64_t number, int i)
{
    return rotate_left(static_cast<uint16_t>(number >> (16 * i)), 8);
}

inline uint64_t place_word(uint16_t word, int i)
{
    return static_cast<uint64_t>(rotate_left(word, 8)) << (16 * i);
}

inline Block<uint16_t> load(uint64_t number)
{
    return {{block_word(number, 0), block_word(number, 1)},
            {block_word(number, 2), block_word(number, 3)}};
}

inline uint64_t store(const Block<uint16_t>& block)
{
    return place_word(block.a.left, 0) | place_word(block.a.right, 1) |
           place_word(block.b.left, 2) | place_word(block.b.right, 3);
}

} // namespace

void sparx_expand(const unsigned char* key, SparxKey* expanded)
{
    uint16_t k[8];
    for (int i = 0; i < 8; i++) {
        k[i] = static_cast<uint16_t>(key[2 * i] << 8 | key[2 * i + 1]);
    }
    for (int c = 0; c <= sparx_branches * sparx_steps; c++) {
        for (int i = 0; i < 2 * sparx_rounds; i++) {
            expanded->round[c][i] = k[i];
        }
        for (int i = 0; i < sparx_rounds && c < sparx_branches * sparx_steps; i++) {
            expanded->sum[c][i] = k[2 * i] ^ k[2 * i + 1];
        }
        mix_words(k[0], k[1]);
        k[2] = static_cast<uint16_t>(k[2] + k[0]);
        k[3] = static_cast<uint16_t>(k[3] + k[1]);
        k[7] = static_cast<uint16_t>(k[7] + c + 1);
        const uint16_t last[2] = {k[6], k[7]};
        for (int i = 7; i >= 2; i--) {
            k[i] = k[i - 2];
        }
        k[0] = last[0];
        k[1] = last[1];
    }
    wipe(k, sizeof k);
}

uint64_t sparx_encrypt(const SparxKey& key, uint64_t raw)
{
    return store(encrypt_block(key, load(raw)));
}

void sparx_encrypt_many(const SparxKey& key, uint64_t* words, size_t count)
{
    for (; count >= lanes; words += lanes, count -= lanes) {
        Lanes x[4];
        for (int i = 0; i < 4; i++) {
            for (size_t lane = 0; lane < lanes; lane++) {
                x[i][lane] = static_cast<uint16_t>(words[lane] >> (16 * i));
            }
            x[i] = rotate_left(x[i], 8);
        }
        const Block<Lanes> block = encrypt_block(key, Block<Lanes>{{x[0], x[1]}, {x[2], x[3]}});
        const Lanes y[4] = {rotate_left(block.a.left, 8), rotate_left(block.a.right, 8),
                            rotate_left(block.b.left, 8), rotate_left(block.b.right, 8)};
        for (size_t lane = 0; lane < lanes; lane++) {
            words[lane] = 0;
            for (int i = 0; i < 4; i++) {
                words[lane] |= static_cast<uint64_t>(y[i][lane]) << (16 * i);
            }
        }
    }
    for (; count > 0; words++, count--) {
        *words = sparx_encrypt(key, *words);
    }
}

uint64_t sparx_decrypt(const SparxKey& key, uint64_t id)
{
    return store(decrypt_block(key, load(id)));
}

void wipe(void* memory, unsigned long size)
{
    auto* at = static_cast<volatile unsigned char*>(memory);
    while (size-- > 0) {
        *at++ = 0;
    }
}

} // namespace flakeid
