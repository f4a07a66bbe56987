"""Networks: values, derivatives up to the third, training, and what is refused."""

import numpy as np
import pytest

import cycloid as cy
from cycloid.networks import MLP, GradientTrainer

SHAPES = {
    "tanh": {"sizes": (3, 20, 17, 1)},
    "softplus": {"sizes": (3, 20, 1), "activation": "softplus"},
    "silu": {"sizes": (3, 20, 20, 1), "activation": "silu", "residual": True},
    "sine": {"sizes": (3, 9, 9, 9, 1), "activation": "sine", "residual": True},
    "wide": {"sizes": (3, 16, 512, 1)},
    "features": {
        "sizes": (3, 16, 1),
        "angles": (1,),
        "frequencies": [[0.5, 0.0, 2.0]],
        "input_shift": [0.1, 0.0, -0.3],
        "input_scale": [2.0, 1.0, 0.5],
        "output_scale": [3.0],
    },
}


NET = MLP((2, 3, 1))


def plain(net, x):
    """The same network in NumPy: tanh, without features."""
    arrays = net.unpack()
    h = x
    for layer in range(len(net.sizes) - 1):
        z = h @ arrays[f"weight{layer}"].T + arrays[f"bias{layer}"]
        h = np.tanh(z) if layer + 2 < len(net.sizes) else z
    return h


def rows(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def derivative(f, e=1e-5):
    """By ε at 0, of fourth order."""
    return (8 * (f(e) - f(-e)) - (f(2 * e) - f(-2 * e))) / (12 * e)


@pytest.mark.parametrize("lead", [(), (1,), (5,), (2, 3), (200,), (0,)])
def test_values_are_those_of_the_formula(lead):
    net = MLP((3, 20, 17, 2), seed=4)
    x = rows(*lead, 3)
    assert net(x).shape == (*lead, 2)
    np.testing.assert_allclose(net(x), plain(net, x), rtol=1e-13, atol=1e-14)
    single = MLP((3, 20, 17, 2), seed=4, dtype="float32")
    assert single(x).dtype == np.float32 and single.weights.dtype == np.float32
    np.testing.assert_allclose(single(x), net(x), rtol=1e-4, atol=1e-5)


def test_weights_lie_layer_by_layer_and_may_be_given():
    net = MLP((2, 3, 1), seed=1)
    w = np.arange(13.0) / 10
    x = np.array([0.3, -0.2])
    hidden = np.tanh(w[:6].reshape(3, 2) @ x + w[6:9])
    expected = w[9:12] @ hidden + w[12]
    assert net(x, weights=w)[0] == pytest.approx(expected, rel=1e-14)
    net.weights = w
    assert net(x)[0] == pytest.approx(expected, rel=1e-14)
    assert not net.weights.flags.writeable
    assert np.array_equal(MLP((2, 3, 1), seed=1).weights, MLP((2, 3, 1), seed=1).weights)
    assert not np.array_equal(MLP((2, 3, 1), seed=1).weights, MLP((2, 3, 1), seed=2).weights)


@pytest.mark.parametrize("count", [1, 6, 75])
@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_are_differences(name, count):
    net = MLP(seed=2, **SHAPES[name])
    n = net.sizes[0]
    x, v, u, y_bar = rows(count, n), rows(count, n, seed=1), rows(count, n, seed=2), rows(count, 1)
    w, w_tan = net.weights, rows(net.weights.size, seed=3)

    def check(gradient, value, v_tan=None):
        """⟨gradient, direction⟩ = d/dε value(x + ε d, w + ε w_tan, v + ε v_tan)."""
        d = rows(count, n, seed=5)
        got = np.sum(gradient.x * d) + gradient.weights @ w_tan
        if v_tan is not None:
            got += np.sum(gradient.v * v_tan)
        expected = derivative(lambda e: value(x + e * d, w + e * w_tan, e))
        assert got == pytest.approx(expected, rel=1e-7)
        assert abs(expected) > 1e-3

    check(net.pullback(x, y_bar), lambda x, w, e: np.sum(y_bar * net(x, w)))
    along = derivative(lambda e: net(x + e * v)[..., 0])
    np.testing.assert_allclose(np.sum(net.gradient(x) * v, -1), along, rtol=1e-7, atol=1e-9)
    check(net.gradient_pullback(x, v), lambda x, w, e: np.sum(v * net.gradient(x, w)))
    product = derivative(lambda e: net.gradient(x + e * v))
    np.testing.assert_allclose(net.hessian_product(x, v), product, rtol=1e-7, atol=1e-9)
    turn = rows(count, n, seed=6)
    check(
        net.hessian_product_pullback(x, v, u),
        lambda x, w, e: np.sum(u * net.hessian_product(x, v + e * turn, w)),
        turn,
    )


def test_bits_depend_neither_on_threads_nor_on_other_rows():
    net = MLP((4, 33, 33, 1), seed=3, dtype="float32")
    x, v = rows(700, 4).astype("float32"), rows(700, 4, seed=1).astype("float32")
    one, two = (net.gradient_pullback(x, v, threads=k) for k in (1, 2))
    assert np.array_equal(one.x, two.x) and np.array_equal(one.weights, two.weights)
    assert np.array_equal(net.gradient_pullback(x[100:140], v[100:140]).x, one.x[100:140])
    assert np.array_equal(net(x)[5:9], net(x[5:9]))


def test_an_angle_has_a_period():
    net = MLP((2, 8, 1), seed=0, angles=(0,))
    x = rows(7, 2)
    np.testing.assert_allclose(net(x + [2 * np.pi, 0]), net(x), atol=1e-13)
    assert net.unpack()["weight0"].shape == (8, 3)


def test_a_trainer_is_adam_on_the_gradient_of_its_loss():
    net = MLP((2, 30, 1), seed=1)
    x, target = rows(100, 2), rows(100, 2, seed=1)
    trainer = GradientTrainer(net, learning_rate=0.01)
    w, m, s = net.weights.copy(), 0.0, 0.0
    for t in range(1, 4):
        off = net.gradient(x, w) - target
        g = net.gradient_pullback(x, 2 * off / off.size, w).weights
        assert trainer.step(x, target) == pytest.approx(np.mean(off**2), rel=1e-12)
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        w -= 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(trainer.weights, w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: MLP((2, 3, 1), "tnah"), 'unknown activation "tnah"; did you mean "tanh"'),
        (lambda: MLP((2,)), "at least the sizes of its inputs and outputs"),
        (lambda: MLP((2, 0, 1)), "a size of a layer must be at least 1"),
        (lambda: MLP((2, 3, 1), dtype="int32"), "dtype must be"),
        (lambda: MLP((2, 3, 1), angles=(2,)), "angles must be rising indices of the 2 inputs"),
        (lambda: MLP((2, 3, 1), input_scale=[1.0, 0.0]), "scale of the inputs .* positive; got 0"),
        (lambda: MLP((2, 3, 1), input_shift=[1.0]), "shift of the inputs must have 2 numbers"),
        (lambda: NET(np.zeros(3)), r"x must have shape \(..., 2\); got \(3,\)"),
        (lambda: NET([[0, 0], [0, np.nan]]), "x must be finite; got nan in row 1, column 1"),
        (lambda: NET([0, 0], np.zeros(12)), r"weights must have shape \(13,\); got \(12,\)"),
        (lambda: NET([0, 0], np.full(13, np.inf)), "weights must be finite; got inf at 0"),
        (lambda: MLP((2, 3, 2)).gradient([0, 0]), "one output; this one has 2"),
        (lambda: NET.pullback(np.zeros((4, 2)), np.zeros((3, 1))), "leading axes like x"),
        (lambda: GradientTrainer(MLP((2, 3, 2))), "one output; this one has 2"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(cy.Error, match=message):
        call()


def test_what_is_no_number_is_a_type_error():
    net = MLP((2, 3, 1))
    for call in (lambda: net("ab"), lambda: MLP("ab"), lambda: MLP(3), lambda: MLP((2, 1.5, 1))):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="read-only"):
        net.weights[0] = 1
