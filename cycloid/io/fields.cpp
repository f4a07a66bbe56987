#include "cycloid/io/fields.h"

#include <mujoco/mjxmacro.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cycloid/base/error.h"
#include "cycloid/io/messages.h"

namespace cycloid::inline io {
namespace {

struct Group {
  FieldUse use;
  std::string_view reason;
  std::string_view fields;  // separated by spaces
};

constexpr Group kGroups[] = {
    {FieldUse::used, "options",
     "opt.timestep opt.gravity opt.wind opt.density opt.viscosity opt.integrator "
     "opt.disableflags opt.enableflags opt.disableactuator"},
    {FieldUse::used, "sizes",
     "nq nv nu nactuator na nbody njnt ntree ngeom nsite ncam ntendon nwrap nsensor nkey nmocap "
     "nnames nbuffer nflex"},
    {FieldUse::used, "bodies",
     "qpos0 qpos_spring body_parentid body_mocapid body_jntnum body_jntadr body_dofnum "
     "body_dofadr body_treeid body_pos body_quat body_ipos body_iquat body_mass body_inertia "
     "body_gravcomp"},
    {FieldUse::used, "joints",
     "jnt_type jnt_qposadr jnt_dofadr jnt_bodyid jnt_limited jnt_actfrclimited jnt_actgravcomp "
     "jnt_pos jnt_axis jnt_stiffness jnt_stiffnesspoly jnt_range jnt_actfrcrange dof_bodyid "
     "dof_jntid dof_parentid dof_frictionloss dof_armature dof_damping dof_dampingpoly"},
    {FieldUse::used, "frames",
     "geom_bodyid geom_pos geom_quat geom_size geom_fluid site_bodyid site_pos site_quat "
     "site_type site_size cam_mode cam_bodyid cam_pos cam_quat"},
    {FieldUse::used, "tendons",
     "tendon_type tendon_adr tendon_num tendon_limited tendon_actfrclimited tendon_range "
     "tendon_actfrcrange tendon_stiffness tendon_stiffnesspoly tendon_damping tendon_dampingpoly "
     "tendon_armature tendon_frictionloss tendon_lengthspring wrap_type wrap_objid wrap_prm"},
    {FieldUse::used, "actuators",
     "actuator_trntype actuator_dyntype actuator_gaintype actuator_biastype actuator_ctrladr "
     "actuator_ctrlnum actuator_ctrlspec actuator_outadr actuator_outnum actuator_actadr "
     "actuator_actnum "
     "actuator_trnid actuator_dynprm actuator_gainprm actuator_biasprm actuator_actlimited "
     "actuator_actrange actuator_actearly actuator_damping actuator_dampingpoly "
     "actuator_armature actuator_group actuator_forcelimited actuator_forcerange "
     "actuator_ctrllimited actuator_ctrlrange actuator_gear actuator_lengthrange actuator_acc0 "
     "actuator_cranklength"},
    {FieldUse::used, "sensors",
     "sensor_type sensor_datatype sensor_objtype sensor_objid sensor_reftype sensor_refid "
     "opt.magnetic cam_resolution cam_sensorsize cam_intrinsic cam_fovy "
     "geom_matid geom_rgba mat_rgba "
     "sensor_dim sensor_cutoff sensor_intprm sensor_historyadr sensor_delay sensor_interval"},
    {FieldUse::used, "keyframes", "key_time key_qpos key_qvel key_act key_mpos key_mquat key_ctrl"},
    {FieldUse::used, "names",
     "name_bodyadr name_jntadr name_geomadr name_siteadr name_camadr name_flexadr name_eqadr "
     "name_tendonadr name_actuatoradr name_sensoradr name_keyadr names"},
    {FieldUse::used, "sleeping, with opt.enableflags", "tree_bodyadr tree_sleep_policy"},
    {FieldUse::used, "what can collide, and what else makes constraints",
     "npair nexclude neq body_weldid geom_type geom_plugin geom_contype geom_conaffinity "
     "pair_geom1 pair_geom2 exclude_signature eq_active0"},

    {FieldUse::used_by_constraints, "options",
     "opt.impratio opt.cone opt.o_margin opt.o_solref opt.o_solimp opt.o_friction"},
    {FieldUse::used_by_constraints, "weights at qpos0, for regularisation",
     "body_invweight0 dof_invweight0 tendon_invweight0 stat.meaninertia"},
    {FieldUse::used_by_constraints, "limits and dry friction",
     "jnt_solref jnt_solimp jnt_margin dof_solref dof_solimp tendon_solref_lim "
     "tendon_solimp_lim tendon_solref_fri tendon_solimp_fri tendon_margin"},
    {FieldUse::used_by_constraints, "contact",
     "geom_condim geom_priority geom_solmix geom_solref geom_solimp geom_friction "
     "geom_margin geom_gap geom_surfacevel geom_adhesion pair_dim pair_solref "
     "pair_solreffriction pair_solimp pair_margin pair_gap pair_adhesion pair_friction "
     "name_pairadr"},
    {FieldUse::used_by_constraints, "meshes and height fields that can touch",
     "geom_dataid nmesh nmeshvert nmeshgraph nmeshpoly nmeshpolyvert nhfield nhfielddata "
     "mesh_vertadr mesh_vertnum mesh_graphadr mesh_extrema mesh_vert mesh_graph mesh_polynum "
     "mesh_polyadr mesh_polyvertadr mesh_polyvertnum mesh_polyvert mesh_polynormal hfield_size "
     "hfield_nrow "
     "hfield_ncol hfield_adr hfield_data name_meshadr name_hfieldadr"},
    {FieldUse::used_by_constraints, "equalities",
     "eq_type eq_obj1id eq_obj2id eq_objtype eq_solref eq_solimp eq_data"},

    {FieldUse::irrelevant, "the way to the constrained optimum, not the optimum itself",
     "opt.tolerance opt.ls_tolerance opt.jacobian opt.solver opt.iterations opt.ls_iterations"},
    {FieldUse::irrelevant, "the precision of MuJoCo's collision search; ours goes to rounding",
     "opt.ccd_tolerance opt.ccd_iterations"},
    {FieldUse::irrelevant, "only for shapes that are refused where they can collide",
     "opt.sdf_initpoints opt.sdf_iterations noct oct_depth oct_child oct_aabb oct_coeff "
     "mesh_octadr mesh_octnum"},
    {FieldUse::irrelevant, "of meshes: drawing, inertia that is compiled already, or derived",
     "nmeshnormal nmeshtexcoord nmeshface nmeshpolymap npolygonmax nmeshdegmax mesh_faceadr "
     "mesh_facenum mesh_bvhadr mesh_bvhnum mesh_normaladr mesh_normalnum mesh_texcoordadr "
     "mesh_texcoordnum mesh_normal mesh_texcoord mesh_face mesh_facenormal mesh_facetexcoord "
     "mesh_scale mesh_pos mesh_quat mesh_polymapadr mesh_polymapnum mesh_polymap"},
    {FieldUse::irrelevant, "bounding volumes and other shortcuts of collision, derived",
     "nbvh nbvhstatic nbvhdynamic body_bvhadr body_bvhnum bvh_depth bvh_child bvh_nodeid "
     "bvh_aabb body_contype body_conaffinity body_margin geom_aabb geom_rbound pair_signature"},
    {FieldUse::irrelevant, "limits of memory for constraints", "nemax njmax nconmax"},
    {FieldUse::irrelevant, "derived from the tree of bodies and the transmissions",
     "nout nM nB nC nD nJten nJmom body_rootid body_geomnum body_geomadr body_simple "
     "body_sameframe body_subtreemass dof_treeid dof_M0 dof_Madr dof_simplenum dof_length "
     "tree_bodynum "
     "tree_dofadr tree_dofnum geom_sameframe site_sameframe jnt_actuatorid tendon_actuatorid "
     "tendon_treenum tendon_treeid ten_J_rownnz ten_J_rowadr ten_J_colind tendon_length0 "
     "actuator_length0 ngravcomp B_rownnz B_rowadr B_colind M_rownnz M_rowadr "
     "M_colind mapM2M D_rownnz D_rowadr D_diag D_colind mapM2D mapD2M"},
    {FieldUse::irrelevant, "only for what is refused by another field",
     "actuator_history "
     "actuator_delay jnt_springyield tendon_springyield key_plastic nplastic nhistory nplugin "
     "npluginattr npluginstate plugin plugin_stateadr plugin_statenum plugin_attr plugin_attradr "
     "opt.sleep_tolerance opt.noslip_tolerance"},
    {FieldUse::irrelevant, "parts of flexes, of which there are none",
     "nflexnode nflexvert nflexedge nflexelem nflexelemdata nflexstiffness nflexbending nefm0dof "
     "nefm0L nefmCvert nflexelemedge nflexshelldata nflextexcoord nJfe flex_contype "
     "flex_conaffinity flex_condim flex_priority flex_solmix flex_solref flex_solimp "
     "flex_friction flex_margin flex_gap flex_selfcollide flex_activelayers flex_passive "
     "flex_dim flex_matid flex_group flex_interp flex_cellnum flex_nodeadr flex_nodenum "
     "flex_vertadr flex_vertnum flex_edgeadr flex_edgenum flex_elemadr flex_elemnum "
     "flex_elemdataadr flex_stiffnessadr flex_elemedgeadr flex_bendingadr flex_plasticadr "
     "flex_plasticmode flex_shellnum flex_shelldataadr flex_texcoordadr flex_nodebodyid "
     "flex_vertbodyid flex_vertcell flex_edge flex_edgeflap flex_elem flex_elemtexcoord "
     "flex_elemedge flex_elemlayer flex_shell flex_vert flex_vert0 flex_node flex_node0 "
     "flexedge_length0 flexedge_invweight0 flex_radius flex_size flex_stiffness flex_bending "
     "efm0_dofid efm0_L_rownnz efm0_L_rowadr efm0_L_colind efm0_L efmC_perm flex_damping "
     "flex_yield flex_edgestiffness flex_edgedamping flex_edgeequality flex_rigid "
     "flexedge_rigid flex_centered flex_flatskin flex_bvhadr flex_bvhnum flexedge_J_rownnz "
     "flexedge_J_rowadr flexedge_J_colind flex_rgba flex_texcoord"},
    {FieldUse::irrelevant, "drawing",
     "vis nlight nskin nskinvert nskintexvert nskinface nskinbone nskinbonevert ntex ntexdata nmat "
     "stat.meanmass stat.meansize stat.extent stat.center jnt_group geom_group "
     "geom_castshadow site_dataid site_matid site_group site_rgba "
     "cam_targetbodyid cam_poscom0 cam_pos0 cam_mat0 cam_projection cam_ipd cam_output light_mode "
     "light_bodyid "
     "light_targetbodyid light_type light_texid light_castshadow light_bulbradius "
     "light_intensity light_range light_active light_pos light_dir light_poscom0 light_pos0 "
     "light_dir0 light_attenuation light_cutoff light_softness light_exponent light_ambient "
     "light_diffuse light_specular skin_matid skin_group skin_rgba skin_inflate skin_vertadr "
     "skin_vertnum skin_texcoordadr skin_faceadr skin_facenum skin_boneadr skin_bonenum "
     "skin_vert skin_texcoord skin_face skin_bonevertadr skin_bonevertnum skin_bonebindpos "
     "skin_bonebindquat skin_bonebodyid skin_bonevertid skin_bonevertweight tex_type "
     "tex_colorspace tex_height tex_width tex_nchannel tex_adr tex_data mat_texid "
     "mat_texuniform mat_texrepeat mat_emission mat_specular mat_shininess mat_reflectance "
     "mat_metallic mat_roughness tendon_matid tendon_group tendon_width tendon_rgba"},
    {FieldUse::irrelevant, "sensors act on nothing; one that uses these cannot be observed",
     "sensor_needstage sensor_adr sensor_noise sensor_history "
     "sensor_plugin nsensordata"},
    {FieldUse::irrelevant, "the user's own data",
     "nuser_body nuser_jnt nuser_geom nuser_site nuser_cam nuser_tendon nuser_actuator "
     "nuser_sensor nuserdata nnumeric nnumericdata ntext ntextdata ntuple ntupledata body_user "
     "jnt_user geom_user site_user cam_user tendon_user actuator_user sensor_user numeric_adr "
     "numeric_size numeric_data text_adr text_size text_data tuple_adr tuple_size tuple_objtype "
     "tuple_objid tuple_objprm"},
    {FieldUse::irrelevant, "labels of what is not in the Model, paths, memory",
     "name_lightadr name_skinadr name_texadr name_matadr "
     "name_excludeadr name_numericadr name_textadr name_tupleadr name_pluginadr "
     "nnames_map names_map npaths paths mesh_pathadr skin_pathadr hfield_pathadr tex_pathadr "
     "tex_contenttypeadr narena buffer signature"},
    {FieldUse::irrelevant, "summaries of other fields", "flg_gravcomp flg_surfacevel flg_adhesion"},
};

constexpr FieldRule kMustBeDefault[] = {
    {"body_plugin", FieldUse::must_be_default, "a force by a plugin",
     "remove the plugin from the body", -1},
    {"actuator_plugin", FieldUse::must_be_default, "an actuator by a plugin",
     "use a general actuator", -1},
    {"actuator_historyadr", FieldUse::must_be_default, "a history of controls (nsample, delay)",
     "remove nsample and delay from the actuator", -1},
    {"jnt_plasticadr", FieldUse::must_be_default, "a plastic spring (springyield)",
     "remove springyield from the joint", -1},
    {"tendon_plasticadr", FieldUse::must_be_default, "a plastic spring (springyield)",
     "remove springyield from the tendon", -1},
    {"opt.noslip_iterations", FieldUse::must_be_default_with_constraints, "the noslip solver",
     "set noslip_iterations to 0, load with noslip=\"ignore\", which runs without it, or load with "
     "constraints=False"},
};

std::vector<FieldRule> all_rules() {
  std::vector<FieldRule> rules(std::begin(kMustBeDefault), std::end(kMustBeDefault));
  for (const Group& group : kGroups) {
    std::string_view rest = group.fields;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      rules.push_back({rest.substr(0, end), group.use, group.reason});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::sort(rules.begin(), rules.end(),
            [](const FieldRule& a, const FieldRule& b) { return a.field < b.field; });
  return rules;
}

[[noreturn]] void refuse(const FieldRule& rule, const std::string& where) {
  throw ModelError(message(where, ": ", rule.reason, " is not supported; ", rule.hint));
}

// A number in use may be infinite only where it is a bound. Keyframes are judged when one is used;
// sensors and cameras are never a reason to refuse, meshes and height fields only where they touch
// (shapes.h).
bool must_be_finite(std::string_view field) {
  return !field.ends_with("range") && !field.starts_with("key_") && !field.starts_with("sensor_") &&
         !field.starts_with("cam_") && !field.starts_with("mesh_") &&
         !field.starts_with("hfield_") && field != "site_size" && field != "opt.magnetic" &&
         !field.ends_with("_rgba");
}

template <class T>
void judge(const mjModel& m, std::string_view field, std::string_view count, const T* values,
           mjtSize rows, mjtSize columns, bool constraints) {
  const FieldRule* rule = field_rule(field);
  if (!rule) return;
  const bool fixed = rule->use == FieldUse::must_be_default ||
                     (rule->use == FieldUse::must_be_default_with_constraints && constraints);
  const bool used =
      rule->use == FieldUse::used || (rule->use == FieldUse::used_by_constraints && constraints);
  const bool finite = std::is_floating_point_v<T> && used && must_be_finite(field);
  if (!fixed && !finite) return;
  for (mjtSize row = 0; row < rows; ++row) {
    for (mjtSize column = 0; column < columns; ++column) {
      const auto value = static_cast<double>(values[row * columns + column]);
      if (fixed && value != rule->value) refuse(*rule, element(m, count, row));
      if (finite && !std::isfinite(value)) {
        throw ModelError(message(element(m, count, row), ": ", field, " is ", value,
                                 "; expected a finite number"));
      }
    }
  }
}

struct Kind {
  std::string_view count, word;
  int* mjModel::* names;
};
constexpr Kind kKinds[] = {
    {"nbody", "body", &mjModel::name_bodyadr},
    {"njnt", "joint", &mjModel::name_jntadr},
    {"ngeom", "geom", &mjModel::name_geomadr},
    {"nsite", "site", &mjModel::name_siteadr},
    {"ncam", "camera", &mjModel::name_camadr},
    {"ntendon", "tendon", &mjModel::name_tendonadr},
    {"nactuator", "actuator", &mjModel::name_actuatoradr},
    {"nsensor", "sensor", &mjModel::name_sensoradr},
    {"nflex", "flex", &mjModel::name_flexadr},
    {"npair", "contact pair", &mjModel::name_pairadr},
    {"neq", "equality", &mjModel::name_eqadr},
    {"nkey", "keyframe", &mjModel::name_keyadr},
};

}  // namespace

std::string_view name(FieldUse use) {
  switch (use) {
    case FieldUse::used: return "used";
    case FieldUse::irrelevant: return "irrelevant";
    case FieldUse::used_by_constraints: return "used by constraints";
    case FieldUse::must_be_default: return "must be default";
    case FieldUse::must_be_default_with_constraints: return "must be default with constraints";
  }
  return "unknown";
}

const std::vector<FieldRule>& field_rules() {
  static const std::vector<FieldRule> rules = all_rules();
  return rules;
}

const FieldRule* field_rule(std::string_view field) {
  const auto& rules = field_rules();
  const auto at = std::lower_bound(
      rules.begin(), rules.end(), field,
      [](const FieldRule& rule, std::string_view wanted) { return rule.field < wanted; });
  return at != rules.end() && at->field == field ? &*at : nullptr;
}

std::string element(const mjModel& m, std::string_view count, mjtSize index) {
  if (count == "nv") return element(m, "njnt", m.dof_jntid[index]);
  for (const Kind& kind : kKinds) {
    if (kind.count != count) continue;
    const std::string own = readable(m.names + (m.*kind.names)[index]);
    return own.empty() ? message(kind.word, " #", index) : message(kind.word, " \"", own, "\"");
  }
  return std::string(count);  // "options"
}

void refuse_by_field(const mjModel& m, bool constraints, std::string_view left_out) {
#define X(type, field, columns)                    \
  if (std::string_view("opt." #field) != left_out) \
    judge<type>(m, "opt." #field, "options", &m.opt.field, 1, columns, constraints);
#define XVEC(type, field, columns) \
  judge<type>(m, "opt." #field, "options", m.opt.field, 1, columns, constraints);
  MJOPTION_FIELDS
#undef XVEC
#undef X
#undef MJ_M
#define MJ_M(size) m.size
#define X(type, field, rows, columns) \
  judge<type>(m, #field, #rows, m.field, m.rows, columns, constraints);
  MJMODEL_POINTERS
#undef X
}

void check_layout(const mjModel& m) {
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  bool sound = m.buffer && m.nbuffer > 0 && m.nbody > 0 && m.nnames > 0;
#define X(type, field, rows, columns)                \
  sound = sound && m.rows >= 0 &&                    \
          (m.rows == 0 ||                            \
           (address(m.field) >= address(m.buffer) && \
            address(m.field) <= address(m.buffer) + static_cast<std::uintptr_t>(m.nbuffer)));
  MJMODEL_POINTERS
#undef X
  if (!sound) {
    throw ModelError("this is not an mjModel of MuJoCo 4.0.0; use the package mujoco-core==4.0.0");
  }
}

void refuse(const std::string& where, std::string_view what, std::string_view hint) {
  throw ModelError(message(where, ": ", what, " is not supported; ", hint));
}

}  // namespace cycloid::inline io
