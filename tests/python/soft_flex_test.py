"""Flexes of MJCF as soft bodies: masses, forces and places of rest are MuJoCo's."""

import mujoco
import numpy as np
import pytest
from soft_taylor import check_gradient

import cycloid as cy

YOUNG, RADIUS = 2e4, 0.01


def model_of(dim, inside, count="5 4 1", more="", attributes="", spacing=".1 .1 .1"):
    return f"""<mujoco><option timestep="0.002"/> <worldbody> {more}
        <flexcomp name="f" type="grid" dim="{dim}" count="{count}" spacing="{spacing}" mass="0.3"
         radius="{RADIUS}" pos="0.1 0.2 1" euler="0 0 20" {attributes}>
          {inside} <contact selfcollide="none" friction="0.5"/> </flexcomp> </worldbody>
        </mujoco>"""


BEND = '<elasticity young="2e4" poisson="0.25" thickness="0.02" damping="0.02" elastic2d="{}"/>'
SOLID = '<elasticity young="2e4" poisson="0.25" damping="0.02"/>'
CASES = {
    "rope": model_of(1, '<edge stiffness="200" damping="0.3"/> <pin id="0 7"/>', "8 1 1"),
    "net": model_of(
        2, BEND.format("stretch") + '<edge damping="0.1"/> <pin id="0 4 15 19"/>'
    ),
    "plate": model_of(2, BEND.format("both") + '<pin gridrange="0 0 1 3"/>'),
    "beam": model_of(3, SOLID + '<pin gridrange="0 0 0  0 2 1"/>', "5 3 2"),
    "kept": model_of(
        2, BEND.format("bend")
        + '<edge equality="true" solref="0.02 1" solimp="0.9 0.9"/> <pin id="0 4 15"/>',
    ),
}
# A dish: bent at rest, with a fold of more than a right angle nowhere.
_x, _y = np.meshgrid(np.linspace(-0.2, 0.2, 5), np.linspace(-0.2, 0.2, 5))
_points = np.stack([_x + 0.1 * _y**2, _y, 0.6 * _x**2 - 0.4 * _x * _y], -1).reshape(-1, 3)
_corner = (5 * np.arange(4)[:, None] + np.arange(4)).ravel()
_cells = np.stack(
    [_corner, _corner + 1, _corner + 6, _corner, _corner + 6, _corner + 5], -1
).reshape(-1, 3)
CASES["dish"] = f"""<mujoco><option timestep="0.002"/> <worldbody>
    <flexcomp name="f" type="direct" dim="2" mass="0.2" radius="0.01"
     point="{' '.join(f'{p:.17g}' for p in _points.ravel())}"
     element="{' '.join(map(str, _cells.ravel()))}"> {BEND.format("both")}
      <contact selfcollide="none"/> <pin id="0 1 5 6"/> </flexcomp> </worldbody> </mujoco>"""


def both(name):
    """Ours, MuJoCo's, and which vertices of ours MuJoCo has as numbers."""
    xml = CASES[name]
    ours = cy.soft.flexes(xml)["f"]
    theirs = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    first = theirs.body_dofadr[theirs.flex_vertbodyid]
    return ours, theirs, data, np.flatnonzero(first >= 0), first[first >= 0]


def place(theirs, data, free, x, rest):
    """Puts MuJoCo's vertices to x."""
    turn = np.stack([data.xmat[b].reshape(3, 3) for b in theirs.flex_vertbodyid[free]])
    data.qpos[:] = np.einsum("vji,vj->vi", turn, (x - rest)[free]).ravel()
    mujoco.mj_forward(theirs, data)
    assert np.allclose(data.flexvert_xpos, x, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_rest_shape_and_masses_are_mujocos(name):
    ours, theirs, data, free, _ = both(name)
    x = ours.initial_state().reshape(2, -1, 3)[0]
    assert np.abs(x - data.flexvert_xpos).max() < 1e-14
    given = ours.parameters.unpack(ours.parameters.default)
    assert np.array_equal(given["mass"][free], theirs.body_mass[theirs.flex_vertbodyid[free]])
    assert "dt 2 ms" in repr(ours)
    assert free.size < len(x)  # some are pinned


@pytest.mark.parametrize("name", CASES)
def test_at_rest_mujocos_forces_balance(name):
    """Our place of rest is one of MuJoCo's: no vertex is accelerated there."""
    ours, theirs, data, free, _ = both(name)
    rest = ours.initial_state().reshape(2, -1, 3)[0]
    found = cy.soft.equilibrium(ours)
    assert found.converged
    x = found.state.reshape(2, -1, 3)[0]
    assert np.abs(x - rest).max() > 2e-3  # it has sagged
    place(theirs, data, free, x, rest)
    assert np.abs(data.qacc).max() < 1e-6 * 9.81 * (1e3 if name == "kept" else 1)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_every_law(name):
    body = cy.soft.flexes(CASES[name], dt=0.01, inputs=("force",))["f"]
    force = 0.01 * np.random.default_rng(2).normal(size=body.input_size)
    acts = {
        "rope": {"edge.stiffness", "edge.damping"},
        "net": {"young", "edge.damping"},
        "plate": {"young", "poisson", "thickness"},
        "beam": {"young", "poisson"},
        "kept": {"equality.stiffness", "equality.damping", "thickness"},
        "dish": {"young", "poisson", "thickness"},
    }
    assert acts[name] <= set(body.parameters.names)
    still = ("damping",) if name == "rope" else ()
    springs = {"edge.stiffness": 3.0} if name == "net" else {}
    given = body.parameters.pack({"drag": 0.3} | springs)  # differences go below them
    scales = {"thickness": 1e-3, "edge.stiffness": 3.0}
    check_gradient(body, force, 4, scales, without=still, params=given)


def test_a_free_solid_has_the_mass_of_its_vertices_alone():
    xml = model_of(3, SOLID, "5 3 2").replace("<option ", '<option gravity="0 0 0" ')
    body = cy.soft.flexes(xml, inputs=("force",))["f"]
    mass, a = np.asarray(body.parameters["mass"]), np.array([0.5, -2.0, 1.0])
    assert mass.sum() == pytest.approx(0.3)
    x0 = body.initial_state()
    run = cy.rollout(body, x0, np.outer(mass, a).reshape(1, -1))
    v = run.states[-1].reshape(2, -1, 3)[1]
    assert np.abs(v - 0.002 * a).max() < 1e-8  # all alike: no strain, v = dt F/m


def test_still_geoms_are_obstacles_and_the_rest_is_said():
    more = """<geom name="floor" type="plane" size="1 1 1" friction="0.7"/>
        <geom name="ball" size="0.2" pos="0.1 0.2 0.6"/>
        <body name="loose" pos="0 0 3"> <freejoint/> <geom name="stone" size="0.1"/> </body>"""
    xml = model_of(2, BEND.format("both"), more=more)
    with pytest.warns(UserWarning) as said:
        body = cy.soft.flexes(xml, dt=0.01)["f"]
    texts = " / ".join(str(w.message) for w in said)
    assert "stone" in texts and "1 joints" in texts and "largest friction, 1" in texts
    given = body.parameters.unpack(body.parameters.default)
    assert np.allclose(given["obstacle:#0.position"], [0, 0, RADIUS])
    assert given["obstacle:#1.size"] == pytest.approx(0.2 + RADIUS)
    run = cy.rollout(body, body.initial_state(), 60)
    x = run.states.reshape(61, 2, -1, 3)[:, 0]
    distance = np.linalg.norm(x - [0.1, 0.2, 0.6], axis=-1)
    assert 0 < distance.min() - 0.2 - RADIUS < 1e-3  # it lies on the ball, and not in it


def test_margin_and_gap_are_left_out_aloud():
    more = '<geom name="ball" size="0.2" margin="0.01" pos="0.1 0.2 0.6"/>'
    with pytest.warns(UserWarning, match='"ball" without margin and gap'):
        cy.soft.flexes(model_of(2, BEND.format("both"), more=more))


def test_contact_with_itself_has_the_friction_of_the_flex():
    xml = model_of(2, BEND.format("both")).replace('selfcollide="none"', 'selfcollide="auto"')
    assert cy.soft.flexes(xml)["f"].parameters["friction"] == 0.5
    assert "friction" not in cy.soft.flexes(xml, self_contact=False)["f"].parameters.names
    asked = cy.soft.flexes(model_of(2, BEND.format("both")), self_contact=True)["f"]
    assert asked.parameters["friction"] == 0.5


def rope_of_bodies(equality="", axes=("1 0 0", "0 1 0", "0 0 1")):
    """A flex of two vertices whose bodies, joints and sites have names."""
    bodies = "".join(
        f"""<body name="b{k}" pos="{0.1 * k} 0 1"> <site name="s{k}"/>
        <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
        {"".join(f'<joint name="j{k}{i}" type="slide" axis="{a}"/>' for i, a in enumerate(axes))}
        </body>"""
        for k in range(2)
    )
    return f"""<mujoco><worldbody> <site name="post"/> {bodies} </worldbody>
        <deformable><flex name="f" dim="1" body="b0 b1" element="0 1" radius="0.01">
         <edge stiffness="10"/> <contact selfcollide="none"/> </flex></deformable>
        <equality>{equality}</equality> </mujoco>"""


def test_bodies_that_are_no_flexcomp_make_a_flex():
    assert "12 states" in repr(cy.soft.flexes(rope_of_bodies())["f"])


@pytest.mark.parametrize(("xml", "said"), [
    (rope_of_bodies('<joint joint1="j00"/>'), "holds a vertex"),
    (rope_of_bodies('<connect site1="s0" site2="post"/>'), "holds a vertex"),
    (rope_of_bodies('<weld site1="post" site2="s1"/>'), "holds a vertex"),
    (rope_of_bodies(axes=("1 0 0", "0 1 0", "1 1 0")), "three slides are in one plane"),
    (model_of(1, '<elasticity young="1e5" poisson="0.3"/>', "8 1 1"), "elasticity of dim 1"),
    (model_of(3, SOLID, "4 4 4", attributes='dof="trilinear"'), "interpolation"),
    (model_of(2, BEND.format("both")).replace(
        "</mujoco>", '<equality><connect body1="f_3" anchor="0 0 0"/></equality></mujoco>'),
     "holds a vertex"),
    (model_of(2, BEND.format("both"), more='<geom type="ellipsoid" size=".1 .1 .1"/>'),
     "this shape beside a flex"),
    (f"""<mujoco><worldbody><body name="b"><freejoint/><geom size=".1"/>
     <flexcomp name="f" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" radius="0.01">
     {BEND.format("both")} <pin id="0"/> </flexcomp></body></worldbody></mujoco>""", "which moves"),
    ("<mujoco/>", "has no flex"),
])
def test_what_is_not_supported_is_named(xml, said):
    with pytest.raises(cy.ModelError, match=said):
        cy.soft.flexes(xml)


def test_a_robot_with_a_flex_says_where_flexes_go():
    with pytest.raises(cy.ModelError, match='flex "f".*cycloid.soft.flexes'):
        cy.load(CASES["net"])


def test_edges_of_dim_1_do_not_touch_each_other():
    with pytest.warns(UserWarning, match="do not touch each other"):
        cy.soft.flexes(CASES["rope"].replace('selfcollide="none"', 'selfcollide="auto"'))
    with pytest.raises(cy.ModelError, match="do not touch each other"):
        cy.soft.flexes(CASES["rope"], self_contact=True)
