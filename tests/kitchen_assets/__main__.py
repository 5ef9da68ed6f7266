import sys
from pathlib import Path

from tests.kitchen_assets.writing import write_stand_in

write_stand_in(Path(sys.argv[1]))
