"""Unix compress (.Z), in which some old UCI sets are packed: the whole content, up to a limit."""


def decompress(data: bytes, limit: int) -> bytes:
    """The content of a .Z file.

    A string of the format's table is that of the code before it, and one byte more; so it stands in the content
    already, and the table only says where.

    Raises
    ------
    ValueError : the data are not in this format, are cut short inside a code, or hold more than `limit` bytes
    """
    if len(data) < 3 or data[:2] != b"\x1f\x9d" or data[2] & 0x60 or not 9 <= data[2] & 31 <= 16:
        raise ValueError("no file of Unix compress")
    widest, clears = max(data[2] & 31, 10), data[2] & 128
    starts, lengths = [0] * (1 << widest), [0] * (1 << widest)
    bits, last, before = 9, 256 if clears else 255, None  # `last` code in use; start and length of the code before
    content, block, at = bytearray(), 3, 0  # codes begin `at` bits into a block of bytes
    while True:
        if last >= (1 << bits) - 1 and bits < widest:
            block, at, bits = _after(block, at, bits), 0, bits + 1
        first = block + at // 8
        if 8 * (block - len(data)) + at + bits > 0:  # no whole code is left
            break
        code = int.from_bytes(data[first : first + 3], "little") >> at % 8 & (1 << bits) - 1
        at += bits
        if clears and code == 256:
            block, at, bits, last, before = _after(block, at, bits), 0, 9, 256, None
            continue
        start = len(content)
        if code < 256:
            content.append(code)
        elif code <= last:
            content += content[starts[code] : starts[code] + lengths[code]]
        elif code == last + 1 and before:
            content += content[before[0] : start] + content[before[0] : before[0] + 1]
        else:
            raise ValueError("a code that stands for nothing")
        if len(content) > limit:
            raise ValueError(f"more than {limit:,} bytes")
        if before and last < (1 << bits) - 1:
            last += 1
            starts[last], lengths[last] = before[0], before[1] + 1
        before = start, len(content) - start
    if 8 * (len(data) - block) - at >= 8:
        raise ValueError("it ends inside a code")
    return bytes(content)


def _after(block: int, at: int, bits: int) -> int:
    """Where codes of another width begin: widths change after whole groups of eight codes."""
    return block + -(-at // (8 * bits)) * bits
