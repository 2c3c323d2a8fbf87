"""Delete the outputs of the stages. Files of others in their folders stay, and are named."""

from pathlib import Path

from dml.own_files import SHOWN, clean

if __name__ == "__main__":
    root = Path(__file__).parents[1]
    left = [str(path.relative_to(root)) for path in clean(root)]
    if left:
        print(f"{len(left)} files stay, since dml did not write them: {', '.join(left[:SHOWN])}")
