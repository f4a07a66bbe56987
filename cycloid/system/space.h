// A state or input space: named blocks, and the difference between coordinates and tangents.
//
// A row of a space holds its blocks one after another; a block is a vector, a unit quaternion, or a
// mixture of such pieces. A vector block has as many tangent numbers
// as coordinates; a unit quaternion block (w, x, y, z) has four coordinates and three tangent
// numbers, an angular displacement in the body's axes [rad]:
//   retract(x, d)       x + d               q ⊗ exp(d)               (1)
//   difference(a, b)    b - a               log(a* ⊗ b)              (2)   = b from a
// Inside the engine a cotangent has one number per tangent direction. At the user's edge it has one
// number per coordinate:
//   to_tangent          d_bar = x_bar       d_bar = ½ vec(q* ⊗ q_bar)          (3)
//   to_coordinates      x_bar = d_bar       q_bar = 2 q ⊗ (0, d_bar) / |q_raw|  (4)
// (4) is the gradient with respect to the raw numbers that `normalise` turned into q. A tangent,
// seen in coordinates:
//   velocity            x_tan = d           q_tan = ½ q ⊗ (0, d)                (5)
#pragma once

#include <string>
#include <vector>

namespace cycloid::inline system {

enum class BlockKind { vector, quaternion, mixed };

// How a block is declared, in a form that a law can keep as a compile-time constant.
struct BlockSpec {
  const char* name;
  int size;          // coordinates; a quaternion has 4
  const char* unit;  // of its coordinates
  BlockKind kind = BlockKind::vector;

  constexpr int tangent_size() const { return kind == BlockKind::quaternion ? 3 : size; }
};

// A block with its place in a row of the space and in a row of its tangents.
struct Block {
  std::string name, unit;
  BlockKind kind = BlockKind::vector;
  int offset = 0, size = 0;
  int tangent_offset = 0, tangent_size = 0;
};

// A block made of several pieces, vectors and quaternions: a robot's qpos.
struct MixedBlockSpec {
  std::string name, unit;
  std::vector<BlockSpec> pieces;  // their names do not matter
};

class Space {
 public:
  Space() = default;
  // Throws ModelError on an empty or repeated name, a size below one, a quaternion not of size 4.
  explicit Space(const std::vector<BlockSpec>& specs);
  explicit Space(const std::vector<MixedBlockSpec>& specs);

  int size() const { return size_; }
  int tangent_size() const { return tangent_size_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  // Likewise, with mixed blocks in their pieces: vectors and quaternions only.
  const std::vector<Block>& pieces() const { return pieces_; }
  // No quaternions: coordinates and tangents are the same numbers.
  bool flat() const { return size_ == tangent_size_; }
  // The block that holds coordinate `i`.
  const Block& block_of(int i) const;
  // The name of tangent number `i` for a message: "qvel[2]", or "angle" for a block of one.
  std::string tangent_name(int i) const;

  // Each works on one row. `normalise` returns false, and leaves the row, on a zero quaternion.
  template <class T>
  bool normalise(T* x) const;
  template <class T>
  void retract(const T* x, const T* d, T* out) const;  // (1)
  template <class T>
  void difference(const T* a, const T* b, T* d) const;  // (2)
  template <class T>
  void velocity(const T* x, const T* d, T* x_tan) const;  // (5)
  // Adds to d_bar.
  template <class T>
  void to_tangent(const T* x, const T* x_bar, T* d_bar) const;  // (3)
  // Adds to x_bar; x_raw is the row before normalisation.
  template <class T>
  void to_coordinates(const T* x_raw, const T* d_bar, T* x_bar) const;  // (4)

 private:
  void add_block(const std::string& name, const std::string& unit,
                 const std::vector<BlockSpec>& pieces);

  std::vector<Block> blocks_, pieces_;
  int size_ = 0, tangent_size_ = 0;
};

}  // namespace cycloid::inline system
