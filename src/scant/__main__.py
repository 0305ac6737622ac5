"""`python -m scant` is the command `scant`."""

from scant.cli import main

raise SystemExit(main())
