#include "cycloid/io/contacts.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/mujoco_library.h"
#include "cycloid/io/refuse.h"

namespace cycloid {
namespace {

// "" when contacts of the model are supported.
std::string refusal(const std::string& xml) {
  const CompiledModel m = compile_model(xml, {});
  try {
    refuse_unsupported_contacts(*m);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

// A floor and a falling body with one geom.
std::string scene(const std::string& geom, const std::string& option = "",
                  const std::string& contact = "") {
  return R"(<mujoco><option>)" + option + R"(</option>
    <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom name="post" type="cylinder" size=".1 1" contype="2" conaffinity="2"/>
    <body name="b" pos="0 0 1"><freejoint/><geom name="g" )" +
         geom + R"(/><body><geom name="part" size=".1" contype="0" conaffinity="0"/></body></body>
    </worldbody>)" +
         contact + "</mujoco>";
}

TEST_CASE("colliding_pairs: types, welds, parents, exclusions and explicit pairs count") {
  const auto pairs = [](const std::string& xml) {
    const CompiledModel m = compile_model(xml, {});
    std::string said;
    for (const CandidatePair& p : colliding_pairs(*m)) {
      said += std::to_string(p.geom1) + "-" + std::to_string(p.geom2) +
              (p.explicit_pair >= 0 ? "! " : " ");
    }
    return said;
  };
  CHECK(pairs(scene("size='.1'")) == "0-2 ");
  CHECK(pairs(scene("size='.1' contype='2'")) == "0-2 2-1 ");
  CHECK(pairs(scene("size='.1' contype='0' conaffinity='0'")) == "");
  CHECK(pairs(scene("size='.1'", "", "<contact><exclude body1='world' body2='b'/></contact>")) ==
        "");
  CHECK(pairs(scene("size='.1'", "", "<contact><pair geom1='part' geom2='post'/></contact>")) ==
        "0-2 3-1! ");
  CHECK(pairs(scene("size='.1' contype='7'", "",
                    "<contact><exclude body1='b' body2='world'/><pair "
                    "geom1='post' geom2='g'/></contact>")) == "2-1! ");
}

TEST_CASE("refuse_unsupported_contacts: primitive shapes and meshes are supported") {
  for (const char* geom :
       {"size='.1'", "type='capsule' size='.1 .1'", "type='ellipsoid' size='.1 .2 .3'",
        "type='cylinder' size='.1 .1'", "type='box' size='.1 .1 .1'", "type='mesh' mesh='m'"}) {
    for (const int condim : {1, 3, 4, 6}) {
      const std::string dim = "' condim='" + std::to_string(condim) + "' contype='3";
      CHECK(refusal(scene(std::string(geom).insert(std::string(geom).size() - 1, dim))) == "");
    }
  }
}

TEST_CASE("refuse_unsupported_contacts: other shapes by name, where they can collide") {
  const std::string hint = "set its contype and conaffinity to 0 or load with constraints=False";
  CHECK(refusal(scene("type='sdf' mesh='m'")) ==
        "geom \"g\": a signed distance field that can collide (with geom \"floor\") is not "
        "supported; " +
            hint);
  CHECK(refusal(scene("type='sdf' mesh='m' contype='0' conaffinity='0'")) == "");
  CHECK(refusal(scene("type='sdf' mesh='m' contype='4' conaffinity='4'")) == "");
  CHECK(refusal(scene("type='sdf' mesh='m'", "",
                      "<contact><exclude body1='world' body2='b'/></contact>")) == "");
  CHECK(refusal(scene("type='sdf' mesh='m' contype='0' conaffinity='0'", "",
                      "<contact><pair geom1='g' geom2='post'/></contact>"))
            .find("remove the contact pair") != std::string::npos);
  const auto terrain = [](const std::string& more, const std::string& contact = "") {
    return "<mujoco><asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset><worldbody>"
           "<geom name='terrain' type='hfield' hfield='h'/>"
           "<geom name='floor' type='plane' size='1 1 1'/>" +
           more + "</worldbody>" + contact + "</mujoco>";
  };
  CHECK(refusal(terrain("")) == "");
  CHECK(refusal(terrain("<body><geom size='1'/></body>")) == "");  // it cannot move
  CHECK(refusal(terrain("<body><freejoint/><geom size='1'/></body>")) == "");
  // MuJoCo has no collider for two unbounded shapes.
  CHECK(refusal(terrain("", "<contact><pair geom1='terrain' geom2='floor'/></contact>")) == "");
}

TEST_CASE("colliding_pairs: a scene with too many pairs is refused before they are made") {
  std::string balls;
  for (int i = 0; i < 3000; ++i) balls += "<body><joint/><geom size='.1'/></body>";
  CHECK(refusal("<mujoco><worldbody>" + balls + "</worldbody></mujoco>")
            .starts_with("the model has 3000 geoms that move and 0 that stand, which makes "
                         "4498500 pairs"));
}

TEST_CASE("colliding_pairs: geoms that cannot meet do not count among too many") {
  std::string own, shy;
  for (int i = 0; i < 3000; ++i) {
    own += "<geom size='.1'/>";
    shy += "<body><joint/><geom size='.1' contype='2' conaffinity='4'/></body>";
  }
  const std::string floor = "<geom type='plane' size='1 1 1' contype='4'/>";
  CHECK(refusal("<mujoco><worldbody>" + floor + "<body><freejoint/>" + own +
                "</body></worldbody></mujoco>") == "");
  CHECK(refusal("<mujoco><worldbody>" + floor + shy + "</worldbody></mujoco>") == "");
}

TEST_CASE("contact_pairs: adhesion is the pair's own; under the override that of the geoms") {
  const auto pairs = [](const std::string& xml) {
    const auto m = compile_model(xml, {});
    return contact_pairs(*m, true);
  };
  const std::string own =
      "<contact><pair name='p' geom1='floor' geom2='g' adhesion='3'/></contact>";
  const auto given = pairs(scene("size='.1' adhesion='2'", "", own));
  REQUIRE(given.size() == 1);
  CHECK(given[0].adhesion == 3);
  const auto overridden = pairs(scene("size='.1' adhesion='2'", "<flag override='enable'/>", ""));
  REQUIRE(overridden.size() == 1);
  CHECK(overridden[0].adhesion == 2);
  CHECK(refusal(scene("size='.1' adhesion='2' surfacevel='1 0 0 0 0 0'")) == "");
}

TEST_CASE("refuse_unsupported_contacts: flags that change contacts, where they do") {
  const std::string round = "size='.1'", apart = "size='.1' contype='4' conaffinity='4'",
                    can = "type='cylinder' size='.1 .1' contype='3'",
                    egg = "type='ellipsoid' size='.1 .1 .1' contype='3'";
  const std::string speculative = "<flag speculative='enable'/>";
  CHECK(refusal(scene(round, speculative)).starts_with("options: the flag speculative ("));
  CHECK(refusal(scene(apart, speculative)) == "");
  const std::string legacy = "<flag nativeccd='disable'/>", single = "<flag multiccd='disable'/>";
  CHECK(refusal(scene(round, legacy)) == "");
  CHECK(refusal(scene(round, single)) == "");
  CHECK(refusal(scene("type='box' size='.1 .1 .1'", single + "")) == "");
  CHECK(refusal(scene(can, legacy))
            .starts_with("geom \"post\" and geom \"g\": convex collision without the flag native"));
  CHECK(refusal(scene(can, single)).find("without the flag multiccd") != std::string::npos);
  CHECK(refusal(scene(egg, legacy)).find("without the flag nativeccd") != std::string::npos);
  CHECK(refusal(scene(egg, single)) == "");
}

TEST_CASE("refuse_unsupported_contacts: condim is 1, 3, 4 or 6") {
  const CompiledModel m = compile_model(scene("size='.1'"), {});
  m->geom_condim[2] = 5;
  CHECK_THROWS_WITH_AS(refuse_unsupported_contacts(*m),
                       "geom \"floor\" and geom \"g\": condim is 5; expected 1, 3, 4 or 6",
                       ModelError);
}

// The contacts that MuJoCo itself finds in the model's first configuration.
std::vector<mjContact> mujoco_contacts(const mjModel& m) {
  void* library = dlopen(CYCLOID_MUJOCO_LIBRARY_FOR_TESTS, RTLD_NOW);
  REQUIRE(library);
  const auto make = reinterpret_cast<decltype(&mj_makeData)>(dlsym(library, "mj_makeData"));
  const auto forward = reinterpret_cast<decltype(&mj_forward)>(dlsym(library, "mj_forward"));
  const auto erase = reinterpret_cast<decltype(&mj_deleteData)>(dlsym(library, "mj_deleteData"));
  mjData* data = make(&m);
  forward(&m, data);
  std::vector<mjContact> contacts(data->contact, data->contact + data->ncon);
  erase(data);
  dlclose(library);
  return contacts;
}

TEST_CASE("contact_pairs: under the override each pair has the numbers of MuJoCo's contact") {
  const CompiledModel m = compile_model(R"(<mujoco>
    <option o_margin=".3" o_solref=".05 .7" o_solimp=".8 .9 .01 .4 3" cone="elliptic"
            o_friction=".6 .5 .04 .03 .02"><flag override="enable"/></option><worldbody>
    <geom name="floor" type="plane" size="1 1 1" margin="1" gap=".5" condim="4"/>
    <body pos="0 0 .2"><freejoint/><geom size=".1" gap=".25"/><geom size=".1" pos="0 .2 0"/></body>
    <body pos="1 0 .2"><freejoint/><geom size=".1" priority="1" condim="1"/></body>
    <body pos="3 0 .3"><freejoint/><geom name="ball" size=".1"/></body></worldbody>
    <contact><pair name="own" geom1="ball" geom2="floor" condim="6" gap=".02" margin=".01"
      friction="1 2 3 4 5" solref=".3 1" solreffriction=".1 1"/></contact></mujoco>)",
                                        {});
  const std::vector<Named<GivenPair>> pairs = contact_pairs(*m, true);
  CHECK(pairs.size() == 4 + 2 + 2 + 1);
  const std::vector<mjContact> contacts = mujoco_contacts(*m);
  REQUIRE(contacts.size() == 4);
  for (const mjContact& c : contacts) {
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const GivenPair& p) {
      return p.geom1 == c.geom[0] && p.geom2 == c.geom[1];
    });
    REQUIRE(found != pairs.end());
    CHECK(found->condim == c.dim);
    CHECK(found->margin == c.includemargin);
    CHECK(found->solref_friction == std::array<double, 2>{0, 0});  // as solref
    for (std::size_t k = 0; k < 5; ++k) {
      CHECK(found->friction[k] == c.friction[k]);
      CHECK(found->soft.solimp[k] == c.solimp[k]);
    }
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(found->soft.solref[k] == c.solref[k]);
      CHECK(found->soft.solref[k] == c.solreffriction[k]);
    }
  }
  CHECK(pairs[0].gap == .75);
  CHECK(pairs[3].name == "own");
  CHECK(pairs[3].gap == .02);
  CHECK(pairs[3].condim == 6);
  // Without contacts the override has no say.
  const std::vector<Named<GivenPair>> own = contact_pairs(*m, false);
  REQUIRE(own.size() == 1);
  CHECK(own[0].margin == .01);
}

TEST_CASE("exclusion: the two bodies of a signature") {
  const CompiledModel m = compile_model(
      scene("size='.1'", "", "<contact><exclude body1='b' body2='world'/></contact>"), {});
  const Exclusion e = exclusion(*m, 0);
  CHECK(std::min(e.body1, e.body2) == 0);
  CHECK(std::max(e.body1, e.body2) == 1);
}

}  // namespace
}  // namespace cycloid
