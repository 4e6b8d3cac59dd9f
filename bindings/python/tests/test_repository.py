"""What stands in the repository for other repositories: the pre-commit hook, the action, and the quick starts, run as written (R-I5)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "ci-check"
ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": "/nonexistent"}


def hook(*arguments: str) -> subprocess.CompletedProcess[str]:
    entry: Any = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    command = [str(ROOT / entry["entry"]), *(arguments or entry["args"])]
    files = [str(path) for path in sorted((EXAMPLE / "schemas").iterdir())]
    return subprocess.run([*command, *files], env=ENVIRONMENT, capture_output=True, text=True)


def test_the_hook_finds_what_is_refused() -> None:
    config: Any = yaml.safe_load((EXAMPLE / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]
    found = hook(*config["args"])
    assert found.returncode == 1 and "OAI-STRICT" in found.stdout
    assert hook("--for", "openai").returncode == 0
    assert hook("--for=nonsense").returncode == 2


def action(**inputs: str) -> subprocess.CompletedProcess[str]:
    made: Any = yaml.safe_load((ROOT / "action.yml").read_text())
    step = made["runs"]["steps"][-1]
    values = {name: row.get("default", "") for name, row in made["inputs"].items()} | inputs
    expressions = {f"${{{{ inputs.{name} }}}}": value for name, value in values.items()}
    expressions["${{ github.action_path }}"] = str(ROOT)
    environment = ENVIRONMENT | {name: expressions[expression] for name, expression in step["env"].items()}
    return subprocess.run(["bash", "-e", "-c", step["run"]], cwd=EXAMPLE, env=environment, capture_output=True, text=True)


def test_the_action_annotates_lines() -> None:
    workflow: Any = yaml.safe_load((EXAMPLE / ".github/workflows/schemas.yml").read_text())
    given = workflow["jobs"]["check"]["steps"][-1]["with"]
    found = action(**given)
    assert found.returncode == 1, found.stderr
    lines = [line for line in found.stdout.splitlines() if line.startswith("::")]
    assert lines and all(re.match(r"::(error|warning|notice) file=schemas/illegal\.json,line=\d+", line) for line in lines), lines
    assert action(files="schemas/legal.json").returncode == 0


@pytest.mark.parametrize("readme", ["README.md", "bindings/python/README.md"])
def test_quick_starts_run_as_written(readme: str, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), flags=re.DOTALL)
    assert programs
    for program in programs:
        ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
        assert ran.returncode == 0 and ran.stdout, ran.stderr
