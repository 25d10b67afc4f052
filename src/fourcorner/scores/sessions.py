"""Sessions: which acquisition campaign a wave is of.

Invariant: a wave belongs to one session. Pinned by `tests/test_waves.py`.
"""

from fourcorner import names
from fourcorner.spec import DataSpec

FEW = 5


def session_of_waves(rows: list[tuple[int, str]], data: DataSpec, faults: list[str]) -> list[str]:
    """The session of each wave in the waves' order; adds to `faults` where that is not one.

    Parameters
    ----------
    rows : list of (int, str)
        Every wave's place with every session that the table has for it, no text being ``""``.
    data : DataSpec
    faults : list of str
    """
    found = []
    for place, wave in enumerate(data.replicate[names.WAVE]):
        sessions = sorted({session for code, session in rows if code == place})
        if any(not session.strip() for session in sessions):
            faults.append(f"{data.session}: an empty session in wave {wave!r}")
        elif len(sessions) > 1:
            listed = ", ".join(map(repr, sessions[:FEW]))
            faults.append(
                f"{data.session} changes within wave {wave!r}: {listed}; a wave belongs to one "
                f"session"
            )
        found.append(sessions[0] if sessions else "")
    return found
