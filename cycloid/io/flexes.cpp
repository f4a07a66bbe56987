#include "cycloid/io/flexes.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/fields.h"
#include "cycloid/math/quaternion.h"
#include "cycloid/math/rotation.h"

namespace cycloid::inline io {
namespace {

struct Frame {
  Quat<double> q = {1, 0, 0, 0};
  Vec3<double> p = {0, 0, 0};

  Frame then(const mjtNum* quat, const mjtNum* pos) const {
    const Quat<double> turn = {quat[0], quat[1], quat[2], quat[3]};
    return {q * turn, p + rotate(q, Vec3<double>{pos[0], pos[1], pos[2]})};
  }
};

class FlexReader {
 public:
  FlexReader(const mjModel& m, const std::vector<FlexMatter>& matter,
             std::vector<std::string>* warnings)
      : m_(m), matter_(matter), warnings_(warnings), moves_(count(m.nbody)), at_(count(m.nbody)) {
    for (int b = 1; b < m.nbody; ++b) {
      const int parent = m.body_parentid[b];
      moves_[count(b)] = moves_[count(parent)] || m.body_dofnum[b] > 0;
      at_[count(b)] = at_[count(parent)].then(m.body_quat + 4 * b, m.body_pos + 3 * b);
    }
  }

  std::vector<FlexModel> all() {
    if (m_.nflex == 0) throw ModelError("the model has no flex; cycloid.load takes its bodies");
    judge_options();
    vertex_of_.assign(count(m_.nbody), -1);
    for (int f = 0; f < m_.nflex; ++f) {
      for (int v = 0; v < m_.flex_vertnum[f]; ++v) {
        const int b = m_.flex_vertbodyid[m_.flex_vertadr[f] + v];
        if (m_.body_dofnum[b] > 0) vertex_of_[count(b)] = f;
      }
    }
    std::vector<FlexModel> out;
    for (int f = 0; f < m_.nflex; ++f) out.push_back(read(f));
    name_what_is_left_out();
    return out;
  }

 private:
  static std::size_t count(mjtSize n) { return static_cast<std::size_t>(n); }
  void warn(const std::string& text) {
    if (warnings_) warnings_->push_back(text);
  }
  bool disabled(int flag) const { return m_.opt.disableflags & flag; }

  void judge_options() const {
    if (disabled(mjDSBL_SPRING) || disabled(mjDSBL_DAMPER)) {
      refuse("options", "a model whose flags take springs or dampers away",
             "enable spring and damper");
    }
    if (m_.opt.density != 0 || m_.opt.viscosity != 0) {
      refuse("options", "a fluid around a flex",
             "set density and viscosity to 0; drag is a parameter of soft bodies");
    }
  }

  FlexModel read(int f) {
    const std::string where = element(m_, "nflex", f);
    const FlexMatter& matter = matter_[count(f)];
    judge(f, where, matter);
    FlexModel out;
    FlexOptions& o = out.options;
    const char* const name = m_.names + m_.name_flexadr[f];
    o.name = *name ? name : message("flex:#", f);
    o.dim = m_.flex_dim[f];
    const bool elastic = o.dim == 3 || matter.stretches || matter.bends;
    o.young = elastic ? matter.young : 0, o.poisson = matter.poisson;
    o.thickness = o.dim == 2 && o.young > 0 ? matter.thickness : 0;
    o.stretches = matter.stretches, o.bends = matter.bends;
    o.damping = o.young > 0 ? m_.flex_damping[f] : 0;
    o.edge_stiffness = m_.flex_edgestiffness[f], o.edge_damping = m_.flex_edgedamping[f];
    o.dt = m_.opt.timestep;
    for (int i = 0; i < 3; ++i) {
      o.gravity[count(i)] = disabled(mjDSBL_GRAVITY) ? 0 : m_.opt.gravity[i];
    }
    for (int v = 0; v < m_.flex_vertnum[f]; ++v) add_vertex(f, v, where, out);
    const int* const elements = m_.flex_elem + m_.flex_elemdataadr[f];
    out.elements.assign(elements, elements + count(m_.flex_elemnum[f]) * count(o.dim + 1));
    if (o.dim == 3) turn_outwards(out);
    if (!disabled(mjDSBL_EQUALITY) && !disabled(mjDSBL_CONSTRAINT)) add_equalities(f, out);
    if (!disabled(mjDSBL_CONTACT) && !disabled(mjDSBL_CONSTRAINT)) add_contacts(f, where, out);
    return out;
  }

  void judge(int f, const std::string& where, const FlexMatter& matter) const {
    if (m_.flex_rigid[f]) {
      refuse(where, "a flex whose vertices are all in one body", "give each vertex its own");
    }
    if (m_.flex_interp[f] != 0) {
      refuse(where, "interpolation from fewer nodes (dof trilinear, quadratic)",
             "take dof=\"full\"");
    }
    if (m_.flex_plasticmode[f] != 0) refuse(where, "plastic flow", "leave yield away");
    if (matter.neo_hookean) {
      refuse(where, "the 3-D material of stable neo-Hookean matter",
             "take St. Venant and Kirchhoff's");
    }
    if (m_.flex_dim[f] == 1 && matter.young > 0) {
      refuse(where, "elasticity of dim 1",
             "take <edge stiffness=...>, or make a cycloid.soft.rod of its points");
    }
  }

  void add_vertex(int f, int v, const std::string& where, FlexModel& out) {
    const int at = m_.flex_vertadr[f] + v, b = m_.flex_vertbodyid[at];
    const std::string body = element(m_, "nbody", b);
    const Frame& frame = at_[count(b)];
    const mjtNum* const own = m_.flex_vert + 3 * at;
    const Vec3<double> x =
        frame.p + (m_.flex_centered[f] ? Vec3<double>{0, 0, 0}
                                       : rotate(frame.q, Vec3<double>{own[0], own[1], own[2]}));
    FlexOptions& o = out.options;
    out.vertices.insert(out.vertices.end(), {x.x, x.y, x.z});
    bool slides = m_.body_jntnum[b] > 0;
    for (int j = m_.body_jntadr[b]; j < m_.body_jntadr[b] + m_.body_jntnum[b]; ++j) {
      slides = slides && m_.jnt_type[j] == mjJNT_SLIDE;
    }
    if (!slides) {
      if (moves_[count(b)]) {
        refuse(where, message("vertex ", v, " in ", body, ", which moves"),
               "pin it to a body that stands still; the input \"pinned\" moves it");
      }
      o.mass.push_back(0);
      o.held.insert(o.held.end(), {1, 1, 1});
      return;
    }
    judge_body(b, where, body);
    char held[3] = {1, 1, 1};
    Vec3<double> axes[3] = {};
    for (int j = m_.body_jntadr[b]; j < m_.body_jntadr[b] + m_.body_jntnum[b]; ++j) {
      const mjtNum* const a = m_.jnt_axis + 3 * j;
      const Vec3<double> axis = rotate(frame.q, Vec3<double>{a[0], a[1], a[2]});
      if (m_.body_jntnum[b] == 3) axes[j - m_.body_jntadr[b]] = axis;
      for (int i = 0; i < 3; ++i) {
        if (m_.body_jntnum[b] == 3 || std::abs(std::abs(axis[i]) - 1) < 1e-9) {
          held[m_.body_jntnum[b] == 3 ? j - m_.body_jntadr[b] : i] = 0;
        }
      }
    }
    if (std::count(held, held + 3, 0) != m_.body_jntnum[b]) {
      refuse(where, message(body, ", which slides along a line that is no axis of the world"),
             "take dof=\"full\"");
    }
    if (m_.body_jntnum[b] == 3 && !(std::abs(dot(axes[0], cross(axes[1], axes[2]))) > 1e-9)) {
      refuse(where, message(body, ", whose three slides are in one plane"), "take dof=\"full\"");
    }
    o.mass.push_back(m_.body_mass[b]);
    o.held.insert(o.held.end(), held, held + 3);
  }

  // MuJoCo takes tetrahedra turned either way.
  static void turn_outwards(FlexModel& out) {
    for (std::size_t e = 0; e < out.elements.size(); e += 4) {
      const auto p = [&](std::size_t a) {
        const double* const x = out.vertices.data() + 3 * count(out.elements[e + a]);
        return Vec3<double>{x[0], x[1], x[2]};
      };
      if (dot(p(1) - p(0), cross(p(2) - p(0), p(3) - p(0))) < 0) {
        std::swap(out.elements[e + 2], out.elements[e + 3]);
      }
    }
  }

  void judge_body(int b, const std::string& where, const std::string& body) const {
    const auto no = [&](bool wrong, const char* what, const char* hint) {
      if (wrong) refuse(where, message(what, " (", body, ")"), hint);
    };
    no(moves_[count(m_.body_parentid[b])], "a flex inside a body that moves",
       "put it into one that stands still");
    no(m_.body_geomnum[b] > 0, "a vertex with geoms", "leave them away");
    no(m_.body_plugin[b] >= 0, "elasticity by a plugin", "take <elasticity>");
    no(m_.body_gravcomp[b] != 0, "a vertex with gravcomp", "set it to 0");
    for (int c = b + 1; c < m_.nbody; ++c) {
      no(m_.body_parentid[c] == b, "a vertex that carries bodies", "leave them away");
    }
    for (int j = m_.body_jntadr[b]; j < m_.body_jntadr[b] + m_.body_jntnum[b]; ++j) {
      const int d = m_.jnt_dofadr[j];
      no(m_.jnt_stiffness[j] != 0 || m_.dof_damping[d] != 0 || m_.dof_armature[d] != 0 ||
             m_.dof_frictionloss[d] != 0 || m_.jnt_limited[j],
         "a vertex whose joints have stiffness, damping, armature, friction or limits",
         "leave them away; drag is a parameter of soft bodies");
    }
  }

  void add_equalities(int f, FlexModel& out) const {
    for (int e = 0; e < m_.neq; ++e) {
      if (!m_.eq_active0[e]) continue;
      const std::string where = element(m_, "neq", e);
      const int type = m_.eq_type[e];
      if (type <= mjEQ_TENDON) {
        for (const int id : {m_.eq_obj1id[e], m_.eq_obj2id[e]}) {
          const int b = body_held(e, id);
          if (b >= 0 && vertex_of_[count(b)] == f) {
            refuse(where, "an equality that holds a vertex of a flex",
                   "pin the vertex, or hold it by a cycloid.soft.Spring");
          }
        }
        continue;
      }
      if (m_.eq_obj1id[e] != f) continue;
      if (type != mjEQ_FLEX) {
        refuse(where, "an equality of a flex that does not keep its edges",
               "take <edge equality=\"true\"/>");
      }
      keep_edges(f, e, out);
    }
  }

  // The body of an object of an equality; -1: none, or a tendon, which is left out.
  int body_held(int e, int id) const {
    if (id < 0 || m_.eq_type[e] == mjEQ_TENDON) return -1;
    if (m_.eq_type[e] == mjEQ_JOINT) return m_.jnt_bodyid[id];
    return m_.eq_objtype[e] == mjOBJ_SITE ? m_.site_bodyid[id] : id;
  }

  // (1) of flexes.h.
  void keep_edges(int f, int e, FlexModel& out) const {
    FlexOptions& o = out.options;
    const mjtNum *const ref = m_.eq_solref + mjNREF * e, *const imp = m_.eq_solimp + mjNIMP * e;
    const double d = std::clamp(imp[1], mjMINIMP, mjMAXIMP), share = d / (1 - d);
    const bool plain = ref[0] > 0;  // a time constant and a damping ratio
    const double time = disabled(mjDSBL_REFSAFE) ? ref[0] : std::max(ref[0], 2 * m_.opt.timestep);
    const double k = plain ? 1 / (d * d * time * time * ref[1] * ref[1]) : -ref[0] / (d * d),
                 b = plain ? 2 / (d * time) : -ref[1] / d;
    o.equality_stiffness = share * d * k, o.equality_damping = share * b;
    for (int i = m_.flex_edgeadr[f]; i < m_.flex_edgeadr[f] + m_.flex_edgenum[f]; ++i) {
      if (m_.flexedge_rigid[i] || !(m_.flexedge_invweight0[i] > 0)) continue;
      o.kept.insert(o.kept.end(), m_.flex_edge + 2 * i, m_.flex_edge + 2 * i + 2);
      o.kept_weight.push_back(1 / m_.flexedge_invweight0[i]);
    }
  }

  void add_contacts(int f, const std::string& where, FlexModel& out) {
    FlexOptions& o = out.options;
    double least = HUGE_VAL, most = 0;
    for (int g = 0; g < m_.ngeom; ++g) {
      const bool touches = (m_.geom_contype[g] & m_.flex_conaffinity[f]) ||
                           (m_.flex_contype[f] & m_.geom_conaffinity[g]);
      if (!touches) continue;
      if (moves_[count(m_.geom_bodyid[g])]) {
        warn(message(where, " does not touch ", element(m_, "ngeom", g), ", whose body moves"));
        continue;
      }
      o.obstacles.push_back(obstacle(f, g));
      if (m_.flex_margin[f] != 0 || m_.flex_gap[f] != 0 || m_.geom_margin[g] != 0 ||
          m_.geom_gap[g] != 0) {
        warn(message(where, " touches ", element(m_, "ngeom", g),
                     " without margin and gap: contact_width says where contact begins"));
      }
      const double mu = friction(f, g);
      least = std::min(least, mu), most = std::max(most, mu);
    }
    out.friction_of_obstacles = most;
    out.friction_of_itself = m_.flex_condim[f] == 1 ? 0 : m_.flex_friction[3 * f];
    const bool by_itself =
        m_.flex_selfcollide[f] != mjFLEXSELF_NONE && (m_.flex_contype[f] & m_.flex_conaffinity[f]);
    o.self_contact = by_itself && o.dim > 1;
    if (o.self_contact) {
      const double mu = out.friction_of_itself;
      least = std::min(least, mu), most = std::max(most, mu);
    }
    o.friction = most;
    if (most > least) {
      warn(message(where, " rubs everything with its largest friction, ", most, ": not ", least));
    }
    if (by_itself && o.dim == 1) warn(message(where, ": edges of dim 1 do not touch each other"));
  }

  double friction(int f, int g) const {
    const bool by_geom = m_.geom_priority[g] > m_.flex_priority[f],
               by_flex = m_.geom_priority[g] < m_.flex_priority[f];
    const int condim = by_geom   ? m_.geom_condim[g]
                       : by_flex ? m_.flex_condim[f]
                                 : std::max(m_.geom_condim[g], m_.flex_condim[f]);
    if (condim == 1) return 0;
    const double of_geom = m_.geom_friction[3 * g], of_flex = m_.flex_friction[3 * f];
    return by_geom ? of_geom : by_flex ? of_flex : std::max(of_geom, of_flex);
  }

  SoftObstacle obstacle(int f, int g) const {
    const Frame at = at_[count(m_.geom_bodyid[g])].then(m_.geom_quat + 4 * g, m_.geom_pos + 3 * g);
    const double r = m_.flex_radius[f];
    const mjtNum* const size = m_.geom_size + 3 * g;
    SoftObstacle o;
    Vec3<double> p = at.p;
    switch (m_.geom_type[g]) {
      case mjGEOM_PLANE:
        o.shape = ObstacleShape::plane;
        p = p + rotate(at.q, Vec3<double>{0, 0, r});
        break;
      case mjGEOM_SPHERE: o.shape = ObstacleShape::sphere, o.size = {size[0] + r, 0, 0}; break;
      case mjGEOM_CAPSULE:
        o.shape = ObstacleShape::capsule, o.size = {size[0] + r, size[1], 0};
        break;
      case mjGEOM_BOX:
        o.shape = ObstacleShape::box, o.size = {size[0] + r, size[1] + r, size[2] + r};
        break;
      default:
        refuse(element(m_, "ngeom", g), "this shape beside a flex",
               "take a plane, sphere, capsule or box, or set its contype and conaffinity to 0");
    }
    const Vec3<double> turn = quaternion_log(at.q);
    o.position = {p.x, p.y, p.z}, o.rotation = {turn.x, turn.y, turn.z};
    return o;
  }

  void name_what_is_left_out() {
    int joints = 0;
    for (int j = 0; j < m_.njnt; ++j) joints += vertex_of_[count(m_.jnt_bodyid[j])] < 0;
    std::string parts;
    const std::pair<mjtSize, const char*> all[] = {
        {joints, "joints"}, {m_.nu, "controls"}, {m_.ntendon, "tendons"}, {m_.nsensor, "sensors"}};
    for (const auto& [n, what] : all) {
      if (n > 0) parts += message(parts.empty() ? "" : ", ", n, " ", what);
    }
    if (!parts.empty()) {
      warn(message("what moves or measures besides flexes is left out: ", parts));
    }
    if (m_.nflex > 1) warn("each flex is a body of its own: they do not touch each other");
  }

  const mjModel& m_;
  const std::vector<FlexMatter>& matter_;
  std::vector<std::string>* warnings_;
  std::vector<char> moves_;     // bodies
  std::vector<Frame> at_;       // where bodies are, as long as nothing moves
  std::vector<int> vertex_of_;  // bodies: the flex one of whose vertices it is, or -1
};

}  // namespace

std::vector<FlexModel> load_flexes(const std::string& path_or_xml, const LoadOptions& options) {
  std::vector<FlexMatter> matter;
  const CompiledModel model = compile_model(path_or_xml, options, &matter);
  if (matter.size() != static_cast<std::size_t>(model->nflex)) {
    throw ModelError("MuJoCo has made other flexes than the text names");
  }
  return FlexReader(*model, matter, options.warnings).all();
}

}  // namespace cycloid::inline io
