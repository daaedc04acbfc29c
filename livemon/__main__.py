"""``python -m livemon`` runs the command line."""

import sys

from livemon.cli import main

if __name__ == "__main__":
    sys.exit(main())
