#pragma once
/// @file
/// A bounding volume hierarchy, built with the binned surface area heuristic (Wald, 2007).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "propwash/math/vec3.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash::detail {

/// An axis-aligned box, initially empty.
struct Bounds {
  Vec3<double> lower{high, high, high};
  Vec3<double> upper{-high, -high, -high};

  void include(const Vec3<double>& p) {
    for (int i = 0; i < 3; ++i) {
      lower[i] = std::min(lower[i], p[i]);
      upper[i] = std::max(upper[i], p[i]);
    }
  }
  void include(const Bounds& b) {
    include(b.lower);
    include(b.upper);
  }
  double twice_centre(int axis) const { return lower[axis] + upper[axis]; }
  /// Half the surface area; 0 when empty.
  double area() const {
    const auto s = upper - lower;
    return s.x < 0.0 ? 0.0 : s.x * s.y + s.y * s.z + s.z * s.x;
  }

 private:
  static constexpr double high = std::numeric_limits<double>::infinity();
};

struct BoxNode {
  Bounds bounds;
  std::int32_t count;  ///< number of boxes of a leaf; 0: an inner node
  std::int32_t next;   ///< leaf: its first index in `order`; inner node: its second child
  std::int32_t axis;
};

struct BoxTree {
  std::vector<BoxNode> nodes;      ///< the root first; a first child follows its parent
  std::vector<std::size_t> order;  ///< indices of the boxes, contiguous for each leaf
};

class BoxTreeBuilder {
 public:
  explicit BoxTreeBuilder(const std::vector<Bounds>& boxes) : boxes_(boxes) {
    tree_.order.resize(boxes.size());
    std::iota(tree_.order.begin(), tree_.order.end(), std::size_t{0});
    if (!boxes.empty()) build(0, boxes.size(), 0);
  }
  BoxTree tree() { return std::move(tree_); }

 private:
  static constexpr int bins = 16;
  static constexpr std::size_t leaf_size = 2;

  struct Split {
    int axis = 0;
    std::size_t middle = 0;
  };

  void build(std::size_t first, std::size_t last, int depth) {
    Bounds all, centres;
    for (std::size_t i = first; i < last; ++i) {
      const Bounds& box = boxes_[tree_.order[i]];
      all.include(box);
      centres.include(Vec3<double>{box.twice_centre(0), box.twice_centre(1), box.twice_centre(2)});
    }
    const std::size_t at = tree_.nodes.size();
    tree_.nodes.push_back({all, 0, 0, 0});
    if (last - first < leaf_size) {
      tree_.nodes[at].count = static_cast<std::int32_t>(last - first);
      tree_.nodes[at].next = static_cast<std::int32_t>(first);
      return;
    }
    const Split split = split_of(first, last, centres, depth);
    tree_.nodes[at].axis = split.axis;
    build(first, split.middle, depth + 1);
    tree_.nodes[at].next = static_cast<std::int32_t>(tree_.nodes.size());
    build(split.middle, last, depth + 1);
  }

  Split split_of(std::size_t first, std::size_t last, const Bounds& centres, int depth) {
    const auto spread = centres.upper - centres.lower;
    Split best;
    best.axis = spread.x > spread.y ? (spread.x > spread.z ? 0 : 2) : (spread.y > spread.z ? 1 : 2);
    const bool too_deep = depth > max_scene_depth / 2 - 2;
    if (spread[best.axis] > 0.0 && !too_deep && last - first > 2) {
      const int border = border_of(first, last, centres, best.axis);
      const auto begin = tree_.order.begin();
      const auto middle = std::partition(
          begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
          [&](std::size_t i) { return bin_of(boxes_[i], centres, best.axis) < border; });
      best.middle = static_cast<std::size_t>(middle - begin);
      if (best.middle > first && best.middle < last) return best;
    }
    best.middle = first + (last - first) / 2;
    const auto at = [&](std::size_t i) {
      return tree_.order.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::nth_element(at(first), at(best.middle), at(last), [&](std::size_t a, std::size_t b) {
      return boxes_[a].twice_centre(best.axis) < boxes_[b].twice_centre(best.axis);
    });
    return best;
  }

  static int bin_of(const Bounds& box, const Bounds& centres, int axis) {
    const double width = centres.upper[axis] - centres.lower[axis];
    const double at = (box.twice_centre(axis) - centres.lower[axis]) / width * bins;
    return std::min(bins - 1, static_cast<int>(at));
  }

  /// The border between bins with the lowest cost.
  int border_of(std::size_t first, std::size_t last, const Bounds& centres, int axis) const {
    Bounds in[bins];
    double count[bins] = {};
    for (std::size_t i = first; i < last; ++i) {
      const Bounds& box = boxes_[tree_.order[i]];
      const int bin = bin_of(box, centres, axis);
      in[bin].include(box);
      count[bin] += 1.0;
    }
    double above[bins] = {};
    Bounds part;
    double number = 0.0;
    for (int bin = bins - 1; bin > 0; --bin) {
      if (count[bin] > 0.0) part.include(in[bin]);
      number += count[bin];
      above[bin] = part.area() * number;
    }
    part = Bounds();
    number = 0.0;
    double lowest = std::numeric_limits<double>::infinity();
    int border = 0;
    for (int bin = 1; bin < bins; ++bin) {
      if (count[bin - 1] > 0.0) part.include(in[bin - 1]);
      number += count[bin - 1];
      const double cost = part.area() * number + above[bin];
      if (cost < lowest) {
        lowest = cost;
        border = bin;
      }
    }
    return border;
  }

  const std::vector<Bounds>& boxes_;
  BoxTree tree_;
};

inline BoxTree make_box_tree(const std::vector<Bounds>& boxes) {
  return BoxTreeBuilder(boxes).tree();
}

}  // namespace propwash::detail
