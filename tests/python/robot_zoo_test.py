"""One hand-written robot with everything that acts without constraints, against MuJoCo."""

import mujoco
import numpy as np
import pytest

import cycloid as cy

ZOO = """
<mujoco model="zoo">
  <option timestep="0.003" gravity="0.4 -0.3 -9.6" density="1.1" viscosity="0.2" wind="0.5 -0.2 0.3"
          {option}/>
  <compiler autolimits="true"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="anchor" pos="0.3 -0.2 1.5" quat="0.8 0.3 -0.4 0.2"/>
    <body name="post" pos="0.1 0.2 0.5" euler="10 20 30">
      <geom size="0.1" mass="3"/>
      <site name="post" pos="0.05 0.1 0.2"/>
      <body name="cart" pos="0 0.1 0.2" euler="-20 10 5" gravcomp="0.7">
        <joint name="rail" type="slide" axis="1 0.2 0.1" stiffness="3 1 2" springref="0.1"
               damping="0.5 0.3 0.2" armature="0.05"/>
        <joint name="swing" axis="0.2 1 0.1" pos="0.02 0.03 -0.05" stiffness="1 0.5 0.3"
               springref="20" damping="0.1 0.05 0.02" ref="15" actuatorfrcrange="-0.8 0.6"
               actuatorgravcomp="true"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.05 -0.4" size="0.04" mass="0.8"/>
        <site name="cart" pos="0.1 0 -0.2" euler="30 40 50"/>
        <body name="ball" pos="0.1 0.05 -0.4" gravcomp="1.3">
          <joint name="socket" type="ball" stiffness="0.6 0.4 0.5" damping="0.05 0.02 0.01"
                 pos="0.01 -0.02 0.03"/>
          <geom type="box" size="0.05 0.1 0.15" pos="0.02 0.03 -0.1" mass="0.5"/>
          <site name="ball" pos="0.03 0.05 -0.15" euler="70 -20 10"/>
          <body name="tip" pos="0 0 -0.25" quat="0.9 0.1 0.3 -0.2">
            <geom type="ellipsoid" size="0.03 0.05 0.07" pos="0.01 0.02 0" mass="0.2"/>
            <body name="finger" pos="0 0.05 -0.05">
              <joint name="finger" axis="1 0 0" damping="0.02" armature="0.01"/>
              <geom type="capsule" fromto="0 0 0 0 0.05 -0.1" size="0.02" mass="0.1"/>
              <site name="finger" pos="0.01 0.03 -0.1"/>
            </body>
          </body>
        </body>
        <body name="wing" pos="-0.1 0 -0.2">
          <joint name="wing" axis="0 0 1" damping="0.03"/>
          <geom type="capsule" fromto="0 0 0 -0.2 0.1 0" size="0.03" mass="0.3"/>
        </body>
      </body>
    </body>
    <body name="drone" pos="1 0 1">
      <freejoint name="drone"/>
      <geom type="box" size="0.2 0.1 0.05" mass="0.7" pos="0.02 0.01 0.03" euler="5 10 15"/>
      <site name="rotor" pos="0.2 0.1 0" euler="10 0 5"/>
      <body name="arm" pos="0.1 0 0.1">
        <joint name="arm" axis="0 1 0" damping="0.04"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03" mass="0.2"/>
        <site name="arm" pos="0.2 0 0.02"/>
      </body>
    </body>
    <body name="rock" pos="-1 0 1">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.3" mass="1.5" pos="0.1 0.05 -0.02"/>
      <body pos="0.2 0.1 0.1" euler="20 30 0"><geom size="0.05" mass="0.4" pos="0.1 0 0"/></body>
    </body>
    <body name="hand" mocap="true" pos="0.5 0.5 0.5">
      <site name="hand" pos="0.1 0 0"/>
      <body name="held" pos="0.1 0.2 0">
        <joint name="held" axis="0 1 1" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="coupling" stiffness="2 0.5 0.4" damping="0.3 0.1 0.1" springlength="0.02 0.05"
           armature="0.04" actuatorfrcrange="-0.3 0.3">
      <joint joint="rail" coef="0.8"/><joint joint="finger" coef="-0.5"/>
      <joint joint="wing" coef="0.7"/>
    </fixed>
    <spatial name="cable" stiffness="5 1 1" damping="0.4 0.1 0.05" springlength="0.3"
             armature="0.06">
      <site site="post"/><site site="cart"/><site site="ball"/><pulley divisor="2"/>
      <site site="anchor"/><site site="arm"/><site site="finger"/>
    </spatial>
    <spatial name="leash" stiffness="3" damping="0.2" springlength="0.4">
      <site site="hand"/><site site="rotor"/>
    </spatial>
  </tendon>
  <actuator>
    <motor name="rail" joint="rail" gear="2" ctrlrange="-0.5 0.5"/>
    <position name="swing" joint="swing" kp="3" kv="0.4" damping="0.02 0.01 0.01" armature="0.03"/>
    <general name="ball" joint="socket" gear="0.3 -0.2 0.4" gainprm="1.2 0.1 0.2" gaintype="affine"
             biastype="affine" biasprm="0.1 -0.4 -0.2"/>
    <position name="turn" joint="socket" gear="0.05 0.04 0.03" kp="8"/>
    <general name="drone" jointinparent="drone" gear="0.2 0.3 1 0.1 0.2 0.3" damping="0.01"
             armature="0.02"/>
    <motor name="coupling" tendon="coupling" gear="1.5"/>
    <position name="coupling2" tendon="coupling" kp="2" kv="0.3" gear="0.8"/>
    <general name="cable" tendon="cable" gainprm="2" biastype="affine" biasprm="0.2 -0.6 -0.3"
             dyntype="filterexact" dynprm="0.05" forcerange="-1 1" armature="0.02"/>
    <general name="rotor" site="rotor" gear="0.1 0 1 0 0 0.2" dyntype="filter" dynprm="0.1"
             actearly="true" actrange="-0.4 0.4" actlimited="true"/>
    <position name="reach" site="finger" refsite="cart" gear="1 0.5 0.2 0 0 0" kp="4" kv="0.2"/>
    <position name="aim" site="ball" refsite="post" gear="0 0 0 0.05 0.02 0.1" kp="3"/>
    <intvelocity name="wing" joint="wing" kp="2" actrange="-1 1"/>
    <general name="arm" joint="arm" dyntype="integrator" biastype="affine" biasprm="0 -1 -0.1"
             gainprm="1" group="3" actrange="-0.2 0.2"/>
  </actuator>
</mujoco>
"""
INTEGRATORS = ("Euler", "implicitfast", "RK4")
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")


def zoo(integrator, option=""):
    text = ZOO.format(option=f'integrator="{integrator}" {option}')
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model, cy.from_mujoco(model, inputs=INPUTS)


def random_point(model, random):
    """A MuJoCo state with all its inputs; velocities of a few units."""
    data = mujoco.MjData(model)
    data.qpos[:] += 0.4 * random.standard_normal(model.nq)
    data.qvel[:] = 1.5 * random.standard_normal(model.nv)
    data.act[:] = 0.3 * random.standard_normal(model.na)
    data.ctrl[:] = random.standard_normal(model.nu)
    data.qfrc_applied[:] = random.standard_normal(model.nv)
    data.xfrc_applied[1:] = random.standard_normal((model.nbody - 1, 6))
    data.mocap_pos[:] += random.standard_normal((model.nmocap, 3))
    data.mocap_quat[:] += random.standard_normal((model.nmocap, 4))
    mujoco.mj_normalizeQuat(model, data.qpos)
    u = [data.ctrl, data.qfrc_applied, data.xfrc_applied, data.mocap_pos, data.mocap_quat]
    return data, np.concatenate([part.ravel() for part in u])


def state(data):
    return np.concatenate([data.qpos, data.qvel, data.act])


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    "option", ["", "disable:spring damper", "disable:gravity clampctrl", "disable:actuation",
               "disable:eulerdamp", "groups"]
)
def test_a_step_with_every_element_equals_mujocos(integrator, option):
    model, _ = zoo(integrator)
    if option == "groups":
        model.opt.disableactuator = 1 << 3
    for flag in option.removeprefix("disable:").split() if ":" in option else ():
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, "mjDSBL_" + flag.upper())
    system = cy.from_mujoco(model, inputs=INPUTS)
    random = np.random.default_rng(5)
    errors = []
    for _ in range(20):
        data, u = random_point(model, random)
        before = state(data)
        mujoco.mj_step(model, data)
        after = cy.step(system, before, u)
        change = state(data) - before
        errors.append(np.abs(after - state(data)).max() / max(np.abs(change).max(), 1e-3))
    # MuJoCo's bodies differ by 1e2 in mass; the worst of its own reorderings is near 1e-12.
    assert max(errors) < 1e-10


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_the_gradient_with_every_element_agrees_with_differences(integrator):
    model, system = zoo(integrator)
    random = np.random.default_rng(6)
    data, u = random_point(model, random)
    controls = np.stack([u] * 5)
    report = cy.check_gradient(system, state(data), controls)
    assert report.ok, report
