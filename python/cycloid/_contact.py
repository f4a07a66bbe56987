"""How the contacts of a robot push."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cycloid._options import as_real, check_one_of, shown

Law = tuple[float | None, float, float, float]  # as the core takes it


@dataclass(frozen=True)
class HuntCrossley:
    """`contact=HuntCrossley(...)`: contacts push by a compliant law in place of MuJoCo's, smooth in
    depth and slip:

        F = stiffness * depth**exponent * max(0, 1 + 1.5 * dissipation * depth_rate)   [N]
        friction = -mu * F * v / sqrt(v**2 + stiction**2), v the slip [m/s]

    stiffness: [N/m^exponent]; None takes it from each pair's solref, so that at a depth of 1 mm the
    force is that of MuJoCo's spring. dissipation: [s/m]; about what is lost of the speed per m/s of
    it in a bounce. stiction: the slip at which friction has 71 % of its strength [m/s]: below it
    contacts creep. Spin and rolling have the same friction, with the speed mu times the angular
    velocity. Limits and equalities stay MuJoCo's.

    Parameters "contact.dissipation", "contact.stiction" and, if it is given, "contact.stiffness".
    The force is explicit: a time step h wants h * sqrt(k / m) below 2, k the slope of F.

    >>> import cycloid as cy
    >>> ball = cy.load('''<mujoco> <worldbody> <geom type="plane" size="1 1 1"/>
    ...     <body pos="0 0 0.3"> <freejoint/> <geom size="0.1"/> </body> </worldbody> </mujoco>''',
    ...     contact=cy.HuntCrossley(stiffness=1e5, dissipation=0.5))
    >>> [name for name in ball.parameters.names if name.startswith("contact.")]
    ['contact.stiffness', 'contact.dissipation', 'contact.stiction']
    """

    stiffness: float | None = None
    exponent: float = 1.5
    dissipation: float = 1.0
    stiction: float = 0.05


def as_contact(contact: Any) -> Law | None:
    """As the core takes it; None for MuJoCo's."""
    if isinstance(contact, str):
        check_one_of(contact, ("mujoco",), "contact", " or cycloid.HuntCrossley(...)")
        return None
    if isinstance(contact, HuntCrossley):
        stiffness = contact.stiffness
        if stiffness is not None:
            stiffness = as_real(stiffness, "the stiffness of HuntCrossley")
        return (
            stiffness,
            as_real(contact.exponent, "the exponent of HuntCrossley"),
            as_real(contact.dissipation, "the dissipation of HuntCrossley"),
            as_real(contact.stiction, "the stiction of HuntCrossley"),
        )
    raise TypeError(
        'contact must be "mujoco" or cycloid.HuntCrossley(stiffness, exponent, dissipation, '
        f"stiction); got {shown(contact)}"
    )
