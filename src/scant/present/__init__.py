"""How results of all families are presented: traces, intervals, slopes, the style of figures, and
their files.
"""
