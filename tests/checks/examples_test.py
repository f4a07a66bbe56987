from examples import judge


def test_an_example_that_ctest_does_not_run_fails(tree):
    root = tree({"examples/first_gradient.cpp": "", "examples/own_law.cpp": ""})
    listing = {"tests": [{"name": "example_first_gradient"}, {"name": "math"}]}
    (message,) = [str(violation) for violation in judge(root, listing)]
    assert message == "examples/own_law.cpp: ctest has no test 'example_own_law'"
    assert list(judge(root, {"tests": listing["tests"] + [{"name": "example_own_law"}]})) == []
