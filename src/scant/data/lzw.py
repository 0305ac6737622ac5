"""Decompress Unix compress files (.Z), in which some old UCI sets are published."""


def decompress(data: bytes, limit: int) -> bytes:
    """The content of a .Z file, at most `limit` bytes.

    Each string in the table of codes is the string of the previous code and one more byte. So it is
    already in the content, and the table only stores where it starts, and its length.
    """
    if len(data) < 3 or data[:2] != b"\x1f\x9d" or data[2] & 0x60 or not 9 <= data[2] & 31 <= 16:
        raise ValueError("no file of Unix compress")
    widest, clears = max(data[2] & 31, 10), data[2] & 128
    starts, lengths = [0] * (1 << widest), [0] * (1 << widest)
    bits, last_code, previous = (
        9,
        256 if clears else 255,
        None,
    )  # `previous`: start and length of a string
    # the next code begins `bit` bits after the byte `block`
    content, block, bit = bytearray(), 3, 0
    while True:
        if last_code >= (1 << bits) - 1 and bits < widest:
            block, bit, bits = _after(block, bit, bits), 0, bits + 1
        first = block + bit // 8
        if 8 * (block - len(data)) + bit + bits > 0:  # no whole code is left
            break
        code = int.from_bytes(data[first : first + 3], "little") >> bit % 8 & (1 << bits) - 1
        bit += bits
        if clears and code == 256:
            block, bit, bits, last_code, previous = _after(block, bit, bits), 0, 9, 256, None
            continue
        start = len(content)
        if code < 256:
            content.append(code)
        elif code <= last_code:
            content += content[starts[code] : starts[code] + lengths[code]]
        elif code == last_code + 1 and previous:
            content += content[previous[0] : start] + content[previous[0] : previous[0] + 1]
        else:
            raise ValueError("a code that stands for nothing")
        if len(content) > limit:
            raise ValueError(f"more than {limit:,} bytes")
        if previous and last_code < (1 << bits) - 1:
            last_code += 1
            starts[last_code], lengths[last_code] = previous[0], previous[1] + 1
        previous = start, len(content) - start
    if 8 * (len(data) - block) - bit >= 8:
        raise ValueError("it ends inside a code")
    return bytes(content)


def _after(block: int, bit: int, bits: int) -> int:
    """The byte at which codes of another width begin: a width changes only after a whole group of
    eight codes.
    """
    return block + -(-bit // (8 * bits)) * bits
