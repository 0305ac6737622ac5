"""Unix compress: what its format holds, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.data.lzw import decompress


def compress(data: bytes, widest: int = 16, clear_every: int = 0) -> bytes:
    """`data` as Unix compress packs it; `clear_every` so many codes, the table is cleared."""
    packed, group, bits = bytearray(b"\x1f\x9d" + bytes([128 | widest])), [], 9

    def as_bits(codes):
        number = sum(code << bits * place for place, code in enumerate(codes))
        return number.to_bytes((bits * len(codes) + 7) // 8, "little")

    def flush():
        """Codes of one width, in whole groups of eight."""
        packed.extend(as_bits([*group, *[0] * (-len(group) % 8)]))
        group.clear()

    table, following, word, codes = {bytes([i]): i for i in range(256)}, 257, b"", 0
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        group.append(table[word])
        codes += 1
        if clear_every and codes % clear_every == 0:
            group.append(256)
            flush()
            table, following, bits = {bytes([i]): i for i in range(256)}, 257, 9
        elif following < 1 << max(widest, 10):
            table[longer] = following
            if following == 1 << bits and bits < max(widest, 10):
                flush()
                bits += 1
            following += 1
        word = bytes([byte])
    if word:
        group.append(table[word])
    return bytes(packed) + as_bits(group)


@given(
    st.lists(
        st.sampled_from((b"a", b"ab", b"abc" * 40, b"\0", bytes(range(256)))), max_size=60
    ).map(b"".join),
    st.sampled_from((9, 10, 12, 16)),
    st.sampled_from((0, 300, 700)),
)
def test_what_is_packed_is_unpacked(data, widest, clear_every):
    assert decompress(compress(data, widest, clear_every), 1 << 20) == data


def test_codes_of_every_width():
    data = b"".join(bytes([i % 251, i // 251]) for i in range(20_000))
    assert decompress(compress(data), 1 << 20) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no file of Unix compress"),
        (b"\x1f\x9d\x88", "no file of Unix compress"),
        (b"\x1f\x9d\x90\xff\xff", "a code that stands for nothing"),
        (b"\x1f\x9d\x90a", "ends inside a code"),
        (compress(bytes(100_000)), "more than 65,536 bytes"),
    ],
)
def test_what_is_refused(data, reason):
    with pytest.raises(ValueError, match=reason):
        decompress(data, 1 << 16)
