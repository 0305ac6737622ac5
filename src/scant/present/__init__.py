"""What all studies share in presenting results: traces, intervals, styles, panels, files."""
