"""`python -m scant` is the command `scant`."""

from scant.client import main

raise SystemExit(main())
