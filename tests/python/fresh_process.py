"""Scripts in a process of their own."""

import os
import subprocess
import sys
import textwrap

# Long enough for a busy machine [s]. What is waited for takes a fraction of a second.
PATIENCE = 60


def run_script(text, before=""):
    """Starts `text`, which finds numpy as np and cycloid as cy; `before` runs before they load."""
    imports = "import numpy as np\nimport cycloid as cy"
    script = "\n".join([before, imports, textwrap.dedent(text)])
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.Popen(
        [sys.executable, "-B", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
