"""Hand-written scenes, as MJCF, in which every kind of constraint acts.

SCENES maps a name to the text. What a scene holds by a control is moved at random by the runs of
contact_models.py; what is free falls, slides, lies or stands.
"""

import itertools

import numpy as np

SIZES = {
    "sphere": "0.1",
    "capsule": "0.07 0.09",
    "ellipsoid": "0.12 0.08 0.1",
    "cylinder": "0.09 0.08",
    "box": "0.1 0.08 0.07",
}
# Pairs that MuJoCo leaves to GJK and EPA.
CONVEX = (
    ("sphere", "ellipsoid"),
    ("capsule", "ellipsoid"),
    ("capsule", "cylinder"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "box"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
)
LAWS = tuple(itertools.product((1, 3, 4, 6), ("pyramidal", "elliptic")))  # condim, cone


def scene(world, more="", option="", geom=""):
    return f"""
<mujoco>
  <compiler autolimits="true"/>
  <option timestep="0.004" {option}/>
  <default><geom friction="0.7 0.02 0.004" {geom}/></default>
  <worldbody>{world}</worldbody>
  {more}
</mujoco>
"""


def floor(attributes=""):
    return f'<geom name="floor" type="plane" size="5 5 0.1" {attributes}/>'


def free(name, place, geom, turn="0 0 0"):
    """A free body; turn: Euler angles in degrees."""
    return (
        f'<body name="{name}" pos="{place}" euler="{turn}"><freejoint/>'
        f'<geom name="{name}" {geom}/></body>'
    )


def stack(count, option=""):
    """Boxes, each turned and shifted a little on the one below."""
    boxes = [
        free(
            f"box{k}",
            f"{0.01 * (k % 3 - 1)} {0.008 * (k % 2)} {0.051 + 0.101 * k}",
            f'type="box" size="{0.1 - 0.002 * k} 0.09 0.05"',
            f"0 0 {7 * k}",
        )
        for k in range(count)
    ]
    return scene(floor() + "".join(boxes), option=option)


def walls(distance):
    normals = ("1 0 1", "-1 0 1", "0 1 1", "0 -1 1")
    places = (f"{-distance} 0 0", f"{distance} 0 0", f"0 {-distance} 0", f"0 {distance} 0")
    return floor() + "".join(
        f'<geom type="plane" size="1 1 0.1" pos="{p}" zaxis="{n}"/>'
        for p, n in zip(places, normals)
    )


def pile(kind, count, option="", geom=""):
    """Bodies of a kind that fall into a funnel; kind may be several."""
    draw = np.random.default_rng(count)
    bodies = []
    for k in range(count):
        x, y = draw.uniform(-0.12, 0.12, 2)
        shape = kind[k % len(kind)]
        attributes = f'type="{shape}" size="{SIZES[shape]}"'
        turn = " ".join(f"{a:.0f}" for a in draw.uniform(-90, 90, 3))
        place = f"{x:.3f} {y:.3f} {0.2 + 0.16 * k:.2f}"
        bodies.append(free(f"{shape}{k}", place, attributes, turn))
    return scene(walls(0.15) + "".join(bodies), option=option, geom=geom)


def pressed(first, second, condim, cone):
    """Two bodies, one held by springs above another that can yield; motors move and turn both, so
    that all their features come to touch.
    """
    motors = "".join(
        f'<motor joint="{joint}" gear="{gear}" ctrlrange="-1 1"/>'
        for joint, gear in [
            *(("x", 6), ("y", 6), ("z", 4), ("tilt", 0.6)),
            *(("turn", f"{a} 0 0") for a in (0.3,)),
            *(("turn", f"0 {a} 0") for a in (0.3,)),
            *(("turn", f"0 0 {a}") for a in (0.3,)),
        ]
    )
    return scene(
        f"""
  <body name="below" pos="0 0 0.2">
    <joint name="bounce" type="slide" axis="0 0 1" stiffness="300" damping="8"/>
    <joint name="tilt" axis="0.3 1 0.2" stiffness="4" damping="0.2"/>
    <geom name="below" type="{first}" size="{SIZES[first]}" mass="0.8"/>
  </body>
  <body name="above" pos="0.02 0.01 0.36">
    <joint name="x" type="slide" axis="1 0 0" stiffness="400" damping="4"/>
    <joint name="y" type="slide" axis="0 1 0" stiffness="400" damping="4"/>
    <joint name="z" type="slide" axis="0 0 1" stiffness="60" damping="1"/>
    <joint name="turn" type="ball" damping="0.02"/>
    <geom name="above" type="{second}" size="{SIZES[second]}" euler="20 30 40" mass="1"/>
  </body>""",
        f"<actuator>{motors}</actuator>",
        f'cone="{cone}"',
        f'condim="{condim}"',
    )


def sliding(cone, impratio=1, option="", geom="", more=""):
    """One body of each shape on a slope, each with its own number of friction directions."""
    condims = (1, 3, 4, 6, 3, 6)
    bodies = [
        free(
            f"{shape}{k}",
            f"{0.4 * k - 1} 0 0.13",
            f'type="{shape}" size="{SIZES[shape]}" condim="{condim}"',
            f"{25 * k} {-10 * k} 15",
        )
        for k, (condim, shape) in enumerate(zip(condims, [*SIZES, "box"]))
    ]
    return scene(
        floor('euler="12 5 0" condim="1"') + "".join(bodies),
        more,
        option=f'cone="{cone}" impratio="{impratio}" {option}',
        geom=geom,
    )


# A chain of joints that reaches the floor: {0} attributes of its hinges, {1} of its slide, {2} of
# its ball.
CHAIN = """
  <body name="post" pos="0 0 0.9">
    <joint name="lift" type="slide" axis="0 0.1 1" damping="1" {1}/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04" mass="1"/>
    <site name="post" pos="0.1 0.1 0.05"/>
    <body name="upper" pos="0.3 0 0">
      <joint name="shoulder" axis="0 1 0.2" damping="0.1" armature="0.01" {0}/>
      <geom type="capsule" fromto="0.02 0.03 0.01 0.25 0.05 -0.1" size="0.04" mass="0.7"/>
      <site name="upper" pos="0.1 0.02 0.04"/>
      <body name="fore" pos="0.25 0.05 -0.1">
        <joint name="wrist" type="ball" damping="0.02" {2}/>
        <geom type="capsule" fromto="0.01 0.02 0 0.15 0 -0.15" size="0.03" mass="0.4"/>
        <site name="fore" pos="0.05 0 -0.1"/>
        <body name="hand" pos="0.15 0 -0.15">
          <joint name="finger" axis="1 0.5 0" pos="0 0.01 0.01" damping="0.01" {0}/>
          <geom type="box" size="0.05 0.03 0.06" pos="0 0 -0.05" mass="0.2"/>
          <site name="hand" pos="0 0 -0.08"/>
        </body>
      </body>
    </body>
  </body>
  <body name="crate" pos="0.8 0 0.1">
    <freejoint name="crate"/>
    <geom name="crate" type="box" size="0.1 0.1 0.1" mass="0.5"/>
    <site name="crate" pos="0.05 0 0.1"/>
  </body>
  <site name="anchor" pos="0.2 -0.3 1.4"/>
  <site name="hook" pos="0.38 0 0.6"/>
  <site name="guide" pos="0.12 0.05 0.6" euler="5 10 0"/>
"""
MOTORS = """
<actuator>
  <motor joint="lift" gear="20" ctrlrange="-1 1"/>
  <motor joint="shoulder" gear="6" ctrlrange="-1 1"/>
  <motor joint="wrist" gear="1 0.5 0.3" ctrlrange="-1 1"/>
  <motor joint="wrist" gear="-0.3 1 0.5" ctrlrange="-1 1"/>
  <motor joint="finger" gear="0.5" ctrlrange="-1 1"/>
</actuator>
"""


def chain(hinge="", slide="", ball="", more="", option="", geom=""):
    world = floor() + CHAIN.format(hinge, slide, ball)
    return scene(world, MOTORS + more, option, geom)


LIMITS = {
    "hinge": 'range="-40 30"',
    "slide": 'range="-0.3 0.1"',
    "ball": 'range="0 35"',
}
TENDONS = """
<tendon>
  <fixed name="coupled" {0}><joint joint="shoulder" coef="0.8"/><joint joint="finger" coef="-0.6"/>
  </fixed>
  <spatial name="rope" {1}><site site="anchor"/><site site="upper"/><site site="hand"/></spatial>
  <spatial name="lead" {2}><site site="post"/><site site="fore"/></spatial>
</tendon>
"""
LIMITED_TENDONS = TENDONS.format(
    'range="-0.2 0.2"', 'range="0 1.25"', 'range="0.3 0.55" margin="0.02"'
)

SCENES = {
    "stack": stack(5),
    "stack elliptic": stack(4, 'cone="elliptic" impratio="3"'),
    "stack of 20": stack(20),
    "pile of capsules": pile(["capsule"], 7),
    "pile of spheres": pile(["sphere"], 8, 'cone="elliptic"', 'condim="6"'),
    "pile of boxes": pile(["box"], 5),
    "pile of ellipsoids": pile(["ellipsoid"], 4, 'cone="elliptic"', 'condim="4"'),
    "pile of cylinders": pile(["cylinder"], 4),
    "pile of all": pile(list(SIZES), 5, 'cone="elliptic" impratio="2"'),
    "sliding": sliding("pyramidal"),
    "sliding impratio": sliding("pyramidal", 4),
    "sliding elliptic": sliding("elliptic"),
    "sliding elliptic impratio": sliding("elliptic", 10),
    "sliding implicitfast": sliding("elliptic", 0.5, 'integrator="implicitfast"'),
    "sliding RK4": sliding("elliptic", 2, 'integrator="RK4"'),
    "limits": chain(**LIMITS),
    "limits of all": chain(
        **{joint: f'{r} margin="0.05"' for joint, r in LIMITS.items()},
        more=LIMITED_TENDONS,
        option='integrator="implicitfast"',
    ),
    "tendon limits": chain(slide=LIMITS["slide"], more=LIMITED_TENDONS),
    "limits direct": chain(
        **{
            joint: f'{r} solreflimit="-900 -40" solimplimit="0.5 0.9 0.05 0.4 3"'
            for joint, r in LIMITS.items()
        },
        more=TENDONS.format(
            'range="-0.2 0.2" solreflimit="-500 -20"',
            'range="0 1.25" solimplimit="0 0.9 0.02 0.6 2"',
            'range="0.3 0.55"',
        ),
        option='cone="elliptic"',
    ),
    "friction loss": chain(
        hinge='frictionloss="0.3" solreffriction="0.03 1"',
        slide=f'{LIMITS["slide"]} frictionloss="4"',
        ball='frictionloss="0.05" solimpfriction="0.8 0.9 0.01"',
    ),
    "friction loss of tendons": chain(
        slide=LIMITS["slide"],
        more=TENDONS.format('frictionloss="0.4"', 'frictionloss="3"', 'frictionloss="1"'),
        option='integrator="RK4"',
    ),
    "connect": chain(
        slide=LIMITS["slide"],
        more="""
<equality>
  <connect body1="hand" body2="crate" anchor="0.02 0.01 -0.1"/>
  <connect name="sites" site1="upper" site2="hook" solref="0.1 1" solimp="0.2 0.8 0.3"/>
</equality>""",
        option='cone="elliptic" impratio="3"',
    ),
    "weld": chain(
        slide=LIMITS["slide"],
        more="""
<equality>
  <weld body1="crate" body2="hand" relpose="0.1 0 -0.15 0.9 0.1 0.2 0.3" anchor="0.03 0.02 0.1"
        torquescale="0.6" solref="0.04 0.9"/>
  <weld site1="post" site2="guide" solref="-60 -8" solimp="0.3 0.8 0.2 0.3 1"/>
</equality>""",
    ),
    "weld to a hand": scene(
        floor()
        + """
<body name="mocap" mocap="true" pos="0.1 0 0.12"><site name="grip" pos="0 0 0.02"/></body>
"""
        + free("held", "0.1 0 0.09", 'type="box" size="0.1 0.07 0.1" mass="0.6"', "5 3 20")
        + free("other", "0.33 0.02 0.09", 'type="cylinder" size="0.09 0.08" mass="0.4"', "90 10 0"),
        '<equality><weld body1="mocap" body2="held" solref="0.05 1"/></equality>',
        'cone="elliptic"',
    ),
    "joint equalities": chain(
        hinge='range="-60 60"',
        slide=LIMITS["slide"],
        more="""
<equality>
  <joint joint1="finger" joint2="shoulder" polycoef="0.1 0.7 -0.3 0.2 0.1"/>
  <joint joint1="lift" polycoef="-0.05 0 0 0 0" solref="0.05 1"/>
</equality>""",
    ),
    "tendon equalities": chain(
        slide=LIMITS["slide"],
        more=TENDONS.format("", "", "")
        + """
<equality>
  <tendon tendon1="coupled" tendon2="rope" polycoef="0.02 0.5 0.3 0 0.1"/>
  <tendon tendon1="lead" polycoef="0.01 0 0 0 0" solref="-300 -15"/>
</equality>""",
        option='cone="elliptic"',
    ),
    "direct solref": sliding("elliptic", 2, geom='solref="-2000 -60"'),
    "solimp": scene(
        floor('solimp="0.7 0.9 0.01 0.3 3" solmix="2"')
        + free("power", "0 0 0.1", 'type="box" size="0.1 0.1 0.1" solimp="0 0.95 0.02 0.4 1"')
        + free("flat", "0.4 0 0.1", 'size="0.1" solimp="0.9 0.9 0.01"', "10 0 0")
        + free("wide", "0.8 0 0.1", 'type="capsule" size="0.08 0.1" solimp="0.3 0.99 0.1 0.6 5"')
        + free("step", "1.2 0 0.1", 'type="cylinder" size="0.1 0.1" solimp="0.5 0.9 0"', "90 0 20"),
        option='cone="elliptic"',
    ),
    "soft and pressed": scene(
        floor('solref="0.1 0.4" solimp="0 0.9 0.05 0.5 2" priority="1" friction="0.5 0.02 0.01"')
        + free("box", "0 0 0.1", 'type="box" size="0.1 0.1 0.1"', "0 0 30")
        + free("ball", "0.02 0.01 0.3", 'size="0.09" condim="6"'),
        option='impratio="2"',
    ),
    "priorities": scene(
        floor('friction="0.3 0.01 0.002" priority="1" solref="0.03 0.8" condim="4"')
        + free("low", "0 0 0.1", 'type="box" size="0.1 0.1 0.1" friction="1.2 0.1 0.1"')
        + free("high", "0.3 0 0.1", 'size="0.1" priority="2" condim="6" friction="0.4 0.05 0.01"')
        + free("same", "0.6 0 0.08", 'type="capsule" size="0.08 0.1" priority="1" solmix="3"')
        + free("on", "0.02 0.01 0.3", 'type="box" size="0.08 0.1 0.1" priority="-1"', "0 0 20"),
        option='cone="elliptic" impratio="2"',
    ),
    "pairs": scene(
        floor('contype="0" conaffinity="0"')
        + free("box", "0 0 0.1", 'type="box" size="0.1 0.1 0.1"', "2 0 30")
        + free("ball", "0.02 0.01 0.3", 'size="0.1"')
        + free("rod", "0.5 0 0.1", 'type="capsule" size="0.08 0.1"', "80 10 0"),
        """
<contact>
  <pair geom1="floor" geom2="box" condim="6" friction="0.6 0.4 0.02 0.003 0.004" margin="0.01"/>
  <pair geom1="ball" geom2="box" condim="4" friction="0.9 0.3 0.02" solref="0.03 0.7"
        solreffriction="0.05 1"/>
  <pair geom1="rod" geom2="floor" condim="3" friction="0.3 0.5" gap="0.01" margin="0.004"
        solimp="0.5 0.9 0.01" solref="-3000 -80"/>
</contact>""",
        'cone="elliptic"',
    ),
    "pairs pyramidal": scene(
        floor()
        + free("box", "0 0 0.1", 'type="box" size="0.1 0.1 0.1"', "2 0 30")
        + free("can", "0.02 0.01 0.3", 'type="cylinder" size="0.1 0.09"', "90 0 0"),
        """
<contact>
  <pair geom1="floor" geom2="box" condim="6" friction="0.6 0.4 0.02 0.003 0.004"/>
  <pair geom1="can" geom2="floor" condim="4"/>
  <pair geom1="can" geom2="box" condim="1"/>
</contact>""",
        'impratio="2"',
    ),
    "margins and gaps": scene(
        floor('margin="0.01"')
        + free("box", "0 0 0.12", 'type="box" size="0.1 0.1 0.1" margin="0.02" gap="0.01"', "3 2 0")
        + free("ball", "0.02 0.01 0.33", 'size="0.1" margin="0.005"')
        + free("rod", "0.4 0 0.1", 'type="capsule" size="0.06 0.1" gap="0.02"', "85 0 0")
        + free("can", "0.8 0 0.12", 'type="cylinder" size="0.1 0.1" margin="0.01"', "85 0 9"),
    ),
    "standing cylinder": scene(
        floor() + free("can", "0 0 0.06", 'type="cylinder" size="0.2 0.05"', "4 0 0")
    ),
    "excluded": scene(
        floor('contype="2" conaffinity="2"')
        + free("a", "0 0 0.1", 'type="box" size="0.1 0.1 0.1" contype="3" conaffinity="2"')
        + free("b", "0.05 0.02 0.16", 'size="0.1" contype="2"', "0 10 0")
        + free("c", "0.02 0.05 0.35", 'type="box" size="0.1 0.1 0.1" contype="1" conaffinity="3"')
        + free("d", "0.4 0 0.1", 'type="capsule" size="0.08 0.1" contype="4" conaffinity="2"'),
        '<contact><exclude body1="a" body2="b"/></contact>',
    ),
    "overridden": sliding(
        "elliptic",
        2,
        'o_margin="0.005" o_solref="0.03 0.9" o_solimp="0.5 0.9 0.01 0.4 2" '
        'o_friction="0.5 0.4 0.02 0.003 0.002"',
        more='<option><flag override="enable"/></option>',
    ),
    "unsafe": scene(
        floor('solref="0.006 1"')
        + free("box", "0 0 0.1", 'type="box" size="0.1 0.1 0.1"', "0 0 9"),
        '<option><flag refsafe="disable"/></option>',
    ),
    "heavy on light": scene(
        floor()
        + free("light", "0 0 0.1", 'type="box" size="0.1 0.1 0.1" mass="0.01"')
        + free("heavy", "0.01 0.01 0.3", 'type="box" size="0.1 0.1 0.1" mass="10"', "0 0 10"),
    ),
    "paddle": scene(
        floor()
        + """
<body name="paddle" mocap="true" pos="0 0 0.1" euler="0 20 0">
  <geom name="paddle" type="box" size="0.1 0.1 0.02" friction="0.5 0.03 0.01"/>
</body>"""
        + free("ball", "0.01 0.02 0.22", 'size="0.08" condim="4"')
        + free("box", "-0.02 0.01 0.4", 'type="box" size="0.1 0.08 0.06"', "10 5 0"),
        option='cone="elliptic"',
    ),
    "tied to the world": scene(
        floor()
        + """
<body name="fixed" pos="0.3 0 0.05" euler="0 0 30">
  <geom name="step" type="box" size="0.1 0.1 0.05"/>
  <body name="lid" pos="0.05 0 0.08">
    <joint name="lid" axis="0 1 0" pos="-0.1 0 0" ref="10" range="-40 30" frictionloss="0.02"/>
    <joint name="drawer" type="slide" axis="1 0 0" range="-0.05 0.1" springref="0.02"
           stiffness="5"/>
    <geom name="lid" type="box" size="0.1 0.08 0.01"/><geom name="knob" size="0.03" pos="0 0 0.03"/>
  </body>
</body>"""
        + free("hung", "0 0 0.3", 'type="capsule" size="0.05 0.1"', "70 0 20")
        + free("held", "0.3 0.02 0.3", 'type="box" size="0.06 0.07 0.08"', "10 0 40")
        + '<site name="nail" pos="0.05 0.02 0.5"/>',
        """
<equality>
  <connect body1="hung" anchor="0.02 0.01 0.09" solref="0.08 1"/>
  <weld body1="held" solref="0.2 0.5" solimp="0.2 0.6 0.1"/>
  <weld body1="hung" body2="held" active="false"/>
</equality>
<contact><exclude body1="fixed" body2="lid"/></contact>""",
    ),
    "pulleys": chain(
        slide='range="-0.3 0.1" frictionloss="2"',
        more="""
<tendon>
  <spatial name="hoist" range="0.2 0.75" frictionloss="0.5" solreffriction="0.05 1">
    <site site="anchor"/><site site="upper"/><pulley divisor="2"/>
    <site site="hook"/><site site="hand"/><site site="crate"/>
  </spatial>
</tendon>
<equality><tendon tendon1="hoist" solref="0.2 1" polycoef="-0.02 0 0 0 0"/></equality>""",
    ),
    "unfiltered": chain(
        **LIMITS,
        more='<option><flag filterparent="disable"/></option>',
        option='cone="elliptic"',
        geom='condim="4" solref="0.05 1"',
    ),
    "switched off": chain(
        **{joint: f'{r} frictionloss="0.3"' for joint, r in LIMITS.items()},
        more=LIMITED_TENDONS
        + """<option><flag limit="disable" frictionloss="disable"/></option>
<equality><connect body1="hand" body2="crate" anchor="0 0 -0.1" solref="0.1 1"/></equality>""",
    ),
    "everything": chain(
        hinge='range="-40 30" frictionloss="0.2"',
        slide='range="-0.3 0.1" solreflimit="-900 -40" frictionloss="3"',
        ball='range="0 35" frictionloss="0.03"',
        more=TENDONS.format('range="-0.2 0.2"', 'range="0 1.25" frictionloss="1"', "")
        + """
<equality>
  <connect body1="hand" body2="crate" anchor="0.02 0.01 -0.1" solref="0.06 1"/>
  <weld site1="post" site2="guide" solref="-60 -8" solimp="0.3 0.8 0.2 0.3 1"/>
  <joint joint1="finger" joint2="shoulder" polycoef="0.1 0.7 -0.3 0.2 0.1" solref="0.1 1"/>
  <tendon tendon1="lead" polycoef="0.01 0 0 0 0" solref="-300 -15"/>
</equality>""",
        option='cone="elliptic" impratio="3"',
        geom='condim="4"',
    ),
}
# Every pair of shapes, and every law of contact: each law several times.
PRESSED = {
    f"{first} on {second}": pressed(first, second, *LAWS[k % len(LAWS)])
    for k, (first, second) in enumerate(itertools.combinations_with_replacement(SIZES, 2))
}
SCENES |= PRESSED
