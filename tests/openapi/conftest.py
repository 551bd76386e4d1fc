"""Makes the helpers of the integration suite, a running server above all, importable here."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
