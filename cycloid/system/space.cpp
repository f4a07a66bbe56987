#include "cycloid/system/space.h"

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/math/dual.h"
#include "cycloid/math/rotation.h"

namespace cycloid::inline system {

Space::Space(const std::vector<BlockSpec>& specs) {
  for (const BlockSpec& spec : specs) add_block(spec.name, spec.unit, {spec});
}

Space::Space(const std::vector<MixedBlockSpec>& specs) {
  for (const MixedBlockSpec& spec : specs) add_block(spec.name, spec.unit, spec.pieces);
}

void Space::add_block(const std::string& name, const std::string& unit,
                      const std::vector<BlockSpec>& pieces) {
  if (name.empty()) throw ModelError("a block of a space needs a name");
  for (const Block& b : blocks_) {
    if (b.name == name)
      throw ModelError(message("two blocks of a space are called \"", name, "\""));
  }
  Block block{name, unit, BlockKind::mixed, size_, 0, tangent_size_, 0};
  if (pieces.size() == 1) block.kind = pieces[0].kind;
  for (const BlockSpec& piece : pieces) {
    if (piece.size < 1) {
      throw ModelError(
          message("block \"", name, "\" has size ", piece.size, "; at least 1 is needed"));
    }
    if (piece.kind == BlockKind::quaternion && piece.size != 4) {
      throw ModelError(message("quaternion block \"", name, "\" has size ", piece.size,
                               "; a quaternion is 4 numbers, one block each"));
    }
    const int tangents = piece.tangent_size();
    pieces_.push_back({name, unit, piece.kind, size_, piece.size, tangent_size_, tangents});
    size_ += piece.size;
    tangent_size_ += tangents;
    block.size += piece.size;
    block.tangent_size += tangents;
  }
  if (block.size == 0) throw ModelError(message("block \"", name, "\" is empty"));
  blocks_.push_back(block);
}

const Block& Space::block_of(int i) const {
  CYCLOID_CHECK(i >= 0 && i < size_, i, size_);
  for (const Block& b : blocks_) {
    if (i < b.offset + b.size) return b;
  }
  return blocks_.back();
}

std::string Space::tangent_name(int i) const {
  CYCLOID_CHECK(i >= 0 && i < tangent_size_, i, tangent_size_);
  for (const Block& b : blocks_) {
    if (i >= b.tangent_offset + b.tangent_size) continue;
    return b.tangent_size == 1 ? b.name : message(b.name, "[", i - b.tangent_offset, "]");
  }
  return {};
}

template <class T>
bool Space::normalise(T* x) const {
  for (const Block& b : pieces_) {
    if (b.kind != BlockKind::quaternion) continue;
    T* q = x + b.offset;
    if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) return false;
  }
  for (const Block& b : pieces_) {
    if (b.kind != BlockKind::quaternion) continue;
    T* q = x + b.offset;
    store(q, cycloid::normalise(load_quat(q)));
  }
  return true;
}

template <class T>
void Space::retract(const T* x, const T* d, T* out) const {
  for (const Block& b : pieces_) {
    if (b.kind == BlockKind::quaternion) {
      store(out + b.offset, cycloid::retract(load_quat(x + b.offset),
                                             load_vec3(d + b.tangent_offset)));  // (1)
    } else {
      for (int i = 0; i < b.size; ++i) {
        out[b.offset + i] = x[b.offset + i] + d[b.tangent_offset + i];
      }
    }
  }
}

template <class T>
void Space::difference(const T* a, const T* b, T* d) const {
  for (const Block& k : pieces_) {
    if (k.kind == BlockKind::quaternion) {
      store(d + k.tangent_offset, cycloid::difference(load_quat(a + k.offset),
                                                      load_quat(b + k.offset)));  // (2)
    } else {
      for (int i = 0; i < k.size; ++i) {
        d[k.tangent_offset + i] = b[k.offset + i] - a[k.offset + i];
      }
    }
  }
}

template <class T>
void Space::velocity(const T* x, const T* d, T* x_tan) const {
  for (const Block& b : pieces_) {
    if (b.kind == BlockKind::quaternion) {
      const Vec3<T> half = load_vec3(d + b.tangent_offset) * T(0.5);
      store(x_tan + b.offset,
            load_quat(x + b.offset) * Quat<T>{T(0), half.x, half.y, half.z});  // (5)
    } else {
      for (int i = 0; i < b.size; ++i) x_tan[b.offset + i] = d[b.tangent_offset + i];
    }
  }
}

template <class T>
void Space::to_tangent(const T* x, const T* x_bar, T* d_bar) const {
  for (const Block& b : pieces_) {
    if (b.kind == BlockKind::quaternion) {
      add_to(d_bar + b.tangent_offset,
             tangent_from_ambient_cotangent(load_quat(x + b.offset),
                                            load_quat(x_bar + b.offset)));  // (3)
    } else {
      for (int i = 0; i < b.size; ++i) d_bar[b.tangent_offset + i] += x_bar[b.offset + i];
    }
  }
}

template <class T>
void Space::to_coordinates(const T* x_raw, const T* d_bar, T* x_bar) const {
  for (const Block& b : pieces_) {
    if (b.kind == BlockKind::quaternion) {
      add_to(x_bar + b.offset,
             ambient_from_tangent_cotangent(load_quat(x_raw + b.offset),
                                            load_vec3(d_bar + b.tangent_offset)));  // (4)
    } else {
      for (int i = 0; i < b.size; ++i) x_bar[b.offset + i] += d_bar[b.tangent_offset + i];
    }
  }
}

// In dual numbers for second derivatives (adjoint/pushforward.h).
using Dual1 = Dual<double, 1>;
template bool Space::normalise(Dual1*) const;
template void Space::to_tangent(const Dual1*, const Dual1*, Dual1*) const;
template void Space::to_coordinates(const Dual1*, const Dual1*, Dual1*) const;
template bool Space::normalise(float*) const;
template bool Space::normalise(double*) const;
template void Space::retract(const float*, const float*, float*) const;
template void Space::retract(const double*, const double*, double*) const;
template void Space::difference(const float*, const float*, float*) const;
template void Space::difference(const double*, const double*, double*) const;
template void Space::velocity(const float*, const float*, float*) const;
template void Space::velocity(const double*, const double*, double*) const;
template void Space::to_tangent(const float*, const float*, float*) const;
template void Space::to_tangent(const double*, const double*, double*) const;
template void Space::to_coordinates(const float*, const float*, float*) const;
template void Space::to_coordinates(const double*, const double*, double*) const;

}  // namespace cycloid::inline system
