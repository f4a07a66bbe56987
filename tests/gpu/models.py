"""Writes robots of gymnasium and dm_control as .cym files, for device_check: models.py FOLDER."""

import sys
import warnings
from pathlib import Path

import cycloid as cy

MODELS = Path(__file__).resolve().parents[2] / ".venv" / "models"
FOLDERS = {"dm": "dm_control/suite", "gym": "gymnasium/envs/mujoco/assets"}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, place in FOLDERS.items():
        for xml in sorted((MODELS / place).glob("*.xml")):
            try:
                robot = cy.load(xml)
            except cy.ModelError as error:
                print(f"left out {prefix}_{xml.stem}: {error}")
                continue
            robot.save(folder / f"{prefix}_{xml.stem}.cym")
            if (prefix, xml.stem) == ("dm", "humanoid"):
                robot.save(folder / "dm_humanoid_smooth.cym")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
