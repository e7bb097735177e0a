#pragma once
/// @file
/// Ray-shape intersections in closed form, over scalars or packs, in the frame of the shape.
///
/// Directions are unit vectors. Functions return the first crossing at a distance > 0, or infinity
/// if there is none; its normal is a unit vector that points against the ray. Arguments must be
/// finite; cast() checks them.

#include <limits>

#include "propwash/math/scalar.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Where a ray crosses a surface.
template <class W>
struct Crossing {
  W distance;      ///< m
  Vec3<W> normal;  ///< unit normal of the surface, towards the origin of the ray
};

namespace detail {

template <class W>
PROPWASH_FN W infinite() {
  return W(std::numeric_limits<value_type_t<W>>::infinity());
}
/// Replaces zero in a denominator.
template <class W>
PROPWASH_FN value_type_t<W> tiny() {
  return constant<W>(1e-30);
}
template <class W>
PROPWASH_FN W zero() {
  return W(constant<W>(0));
}

/// Logical operations on masks of lanes, and on bool without a compiler's warning about `&`.
template <class M>
PROPWASH_FN M both(const M& a, const M& b) {
  return static_cast<M>(a & b);
}
template <class M>
PROPWASH_FN M either(const M& a, const M& b) {
  return static_cast<M>(a | b);
}

/// 1 / x; finite, with an arbitrary sign, at zero.
template <class W>
PROPWASH_FN W safe_inverse(const W& x) {
  return W(constant<W>(1)) / select(abs(x) < W(tiny<W>()), W(tiny<W>()), x);
}

template <class W>
PROPWASH_FN Vec3<W> safe_inverse(const Vec3<W>& v) {
  return {safe_inverse(v.x), safe_inverse(v.y), safe_inverse(v.z)};
}

/// The part of a ray between two surfaces, from `enter` to `leave`; empty if enter > leave.
template <class W>
struct Interval {
  W enter, leave;  ///< m along the ray
};

/// Between the planes at -half and half of one axis.
template <class W, class P>
PROPWASH_FN Interval<W> slab(const W& origin, const W& inverse, const P& half) {
  const W a = (-half - origin) * inverse;
  const W b = (half - origin) * inverse;
  return {min(a, b), max(a, b)};
}
template <class W>
PROPWASH_FN Interval<W> overlap(const Interval<W>& a, const Interval<W>& b) {
  return {max(a.enter, b.enter), min(a.leave, b.leave)};
}
/// The first end of the interval in front of the ray's origin, or infinity.
template <class W>
PROPWASH_FN W first_end(const Interval<W>& part) {
  const W t = select(part.enter > zero<W>(), part.enter, part.leave);
  return select(both(part.enter<part.leave, t> zero<W>()), t, infinite<W>());
}
template <class W>
PROPWASH_FN W nearest_end(const Interval<W>& part, const W& t) {
  return min(abs(part.enter - t), abs(part.leave - t));
}
/// The normal along the axis with the smallest distance `off_surface`, against the ray.
template <class W>
PROPWASH_FN Vec3<W> axis_normal(const Vec3<W>& off_surface, const Vec3<W>& direction) {
  const W o = zero<W>();
  const Vec3<W> sign = map(direction, [&](const W& d) PROPWASH_LAMBDA {
    return select(d > o, W(constant<W>(-1)), W(constant<W>(1)));
  });
  const auto not_x = either(off_surface.x > off_surface.y, off_surface.x > off_surface.z);
  const auto not_y = off_surface.y > off_surface.z;
  return {select(not_x, o, sign.x), select(not_x, select(not_y, o, sign.y), o),
          select(not_x, select(not_y, sign.z, o), o)};
}
/// n or -n, whichever points against the ray.
template <class W>
PROPWASH_FN Vec3<W> against(const Vec3<W>& n, const Vec3<W>& direction) {
  const auto along = dot(n, direction) > zero<W>();
  return {select(along, -n.x, n.x), select(along, -n.y, n.y), select(along, -n.z, n.z)};
}

}  // namespace detail

/// A box about the origin; `half`: half extents.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_box(const Vec3<W>& origin_S, const Vec3<W>& direction_S,
                                      const Vec3<P>& half) {
  using namespace detail;
  const auto x = slab(origin_S.x, safe_inverse(direction_S.x), half.x);
  const auto y = slab(origin_S.y, safe_inverse(direction_S.y), half.y);
  const auto z = slab(origin_S.z, safe_inverse(direction_S.z), half.z);
  const W t = first_end(overlap(overlap(x, y), z));
  const Vec3<W> off{nearest_end(x, t), nearest_end(y, t), nearest_end(z, t)};
  return {t, axis_normal(off, direction_S)};
}

/// A box with a rectangular opening along x.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_gate(const Vec3<W>& origin_S, const Vec3<W>& direction_S,
                                       const Vec3<P>& half, const P& opening_y,
                                       const P& opening_z) {
  using namespace detail;
  const Vec3<W> inverse = safe_inverse(direction_S);
  const auto x = slab(origin_S.x, inverse.x, half.x);
  const auto y = slab(origin_S.y, inverse.y, half.y);
  const auto z = slab(origin_S.z, inverse.z, half.z);
  const auto whole = overlap(overlap(x, y), z);
  const auto open_y = slab(origin_S.y, inverse.y, opening_y);
  const auto open_z = slab(origin_S.z, inverse.z, opening_z);
  const auto open = overlap(open_y, open_z);
  // the ray is in the bars before it enters the opening and after it leaves it
  const auto passes = open.enter < open.leave;
  const Interval<W> front{whole.enter, min(whole.leave, select(passes, open.enter, infinite<W>()))};
  const Interval<W> behind{max(whole.enter, select(passes, open.leave, infinite<W>())),
                           whole.leave};
  const W t = min(first_end(front), first_end(behind));
  const Vec3<W> off{nearest_end(x, t), min(nearest_end(y, t), nearest_end(open_y, t)),
                    min(nearest_end(z, t), nearest_end(open_z, t))};
  return {t, axis_normal(off, direction_S)};
}

/// The first crossing of a ray with a sphere about the origin.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_sphere(const Vec3<W>& origin_S, const Vec3<W>& direction_S,
                                         const P& radius) {
  using namespace detail;
  // relative to the ray's point nearest to the centre, to avoid the difference of large squares
  const W middle = -dot(origin_S, direction_S);
  const Vec3<W> nearest = origin_S + direction_S * middle;
  const W square = W(radius * radius) - squared_norm(nearest);
  const W reach = sqrt(max(square, zero<W>()));
  const W t = first_end(Interval<W>{middle - reach, middle + reach});
  const W side = select(middle - reach > zero<W>(), -reach, reach);
  const auto n = (nearest + direction_S * side) * (constant<W>(1) / radius);
  return {select(square > zero<W>(), t, infinite<W>()), against(n, direction_S)};
}

/// The points within `radius` of the segment from -half_length to half_length along z.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_capsule(const Vec3<W>& origin_S, const Vec3<W>& direction_S,
                                          const P& radius, const P& half_length) {
  using namespace detail;
  const W o = zero<W>(), far = infinite<W>();
  const auto& d = direction_S;
  // Relative to the ray's point nearest to the centre, to avoid the difference of large squares.
  // A convex body: the ray's part in it is from the first entry to the last exit of its pieces.
  const W middle = -dot(origin_S, d);
  const Vec3<W> p = origin_S + d * middle;
  Interval<W> inside{far, -far};
  const auto include = [&](const Interval<W>& part, const auto& is_met) PROPWASH_LAMBDA {
    inside = {select(is_met, min(inside.enter, part.enter), inside.enter),
              select(is_met, max(inside.leave, part.leave), inside.leave)};
  };
  const P ends[2] = {-half_length, half_length};
  for (const P& end : ends) {
    const W along = d.z * end;
    const Vec3<W> from{p.x + d.x * along, p.y + d.y * along, p.z + d.z * along - end};
    const W square = W(radius * radius) - squared_norm(from);
    const W reach = sqrt(max(square, o));
    include({along - reach, along + reach}, square > o);
  }
  const W across = d.x * d.x + d.y * d.y;
  const auto slanted = across > W(constant<W>(1e-14));
  const W inverse = W(constant<W>(1)) / max(across, W(constant<W>(1e-14)));
  const W moment = p.x * d.y - p.y * d.x;
  const W square = W(radius * radius) * across - moment * moment;
  const W nearest = -(p.x * d.x + p.y * d.y) * inverse;
  const W reach = sqrt(max(square, o)) * inverse;
  const auto side = overlap(Interval<W>{nearest - reach, nearest + reach},
                            slab(p.z, safe_inverse(d.z), half_length));
  // a ray along the axis is in the ends whenever it is in the side
  include(side, both(both(square > o, slanted), side.enter < side.leave));
  const W t = first_end(Interval<W>{inside.enter + middle, inside.leave + middle});
  const Vec3<W> at = p + d * select(t < far, t - middle, o);
  const Vec3<W> n{at.x, at.y, at.z - max(min(at.z, W(half_length)), -W(half_length))};
  return {t, against(n * (W(constant<W>(1)) / norm(n)), d)};
}

/// A capped cylinder about z.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_cylinder(const Vec3<W>& origin_S, const Vec3<W>& direction_S,
                                           const P& radius, const P& half_height) {
  using namespace detail;
  const W o = zero<W>();
  const auto& p = origin_S;
  const auto& d = direction_S;
  // in the plane normal to the axis
  const W square = d.x * d.x + d.y * d.y;
  const auto upright = square < W(constant<W>(1e-14));
  const W inverse = W(constant<W>(1)) / max(square, W(constant<W>(1e-14)));
  const W moment = p.x * d.y - p.y * d.x;
  const W inside = select(upright, W(radius * radius) - (p.x * p.x + p.y * p.y),
                          W(radius * radius) * square - moment * moment);
  const W reach = select(upright, W(constant<W>(1e18)), sqrt(max(inside, o)) * inverse);
  const W middle = select(upright, o, -(p.x * d.x + p.y * d.y) * inverse);
  const Interval<W> round{middle - reach, middle + reach};
  const auto caps = slab(p.z, safe_inverse(d.z), half_height);
  const W t = first_end(overlap(round, caps));
  // the end of `round` at the crossing
  const W side = select(abs(round.enter - t) > abs(round.leave - t), reach, -reach);
  const P scale = constant<W>(1) / radius;
  const Vec3<W> n{(moment * d.y * inverse + d.x * side) * scale,
                  (d.x * -moment * inverse + d.y * side) * scale, o};
  const Vec3<W> across = against(n, d);
  const auto on_cap = nearest_end(round, t) > nearest_end(caps, t);
  const Vec3<W> normal{select(on_cap, o, across.x), select(on_cap, o, across.y),
                       select(on_cap, select(d.z > o, W(constant<W>(-1)), W(constant<W>(1))), o)};
  return {select(inside > o, t, infinite<W>()), normal};
}

/// A plane through `point` with a unit normal, in any frame.
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_plane(const Vec3<W>& origin, const Vec3<W>& direction,
                                        const Vec3<P>& point, const Vec3<P>& normal) {
  using namespace detail;
  const W down = dot(direction, normal);
  const W t = dot(point - origin, normal) * safe_inverse(down);
  const auto meets = both(t > zero<W>(), abs(down) > W(constant<W>(1e-12)));
  const Vec3<W> n{W(normal.x), W(normal.y), W(normal.z)};
  return {select(meets, t, infinite<W>()), against(n, direction)};
}

/// A triangle given by its corners, in any frame. The corners are transformed to axes of the ray,
/// so that triangles with a common edge use the same numbers and a closed mesh has no cracks (after
/// Woop, Benthin and Wald, 2013).
template <class W, class P>
PROPWASH_FN Crossing<W> intersect_triangle(const Vec3<W>& origin, const Vec3<W>& direction,
                                           const Vec3<P> (&corners)[3], const Vec3<P>& normal) {
  using namespace detail;
  constexpr value_type_t<W> epsilon = std::numeric_limits<value_type_t<W>>::epsilon();
  const auto& d = direction;
  // two axes across the ray (Duff et al., 2017)
  const W one(constant<W>(1));
  const W sign = select(d.z < zero<W>(), -one, one);
  const W a = -one / (sign + d.z);
  const W b = d.x * d.y * a;
  const Vec3<W> right{one + sign * d.x * d.x * a, sign * b, -sign * d.x};
  const Vec3<W> up{b, sign + d.y * d.y * a, -d.y};
  W x[3], y[3], z[3];
  for (int i = 0; i < 3; ++i) {
    const Vec3<W> p = corners[i] - origin;
    x[i] = dot(p, right);
    y[i] = dot(p, up);
    z[i] = dot(p, d);
  }
  // twice the area between the ray and each edge, and its rounding error
  const auto area = [&](int i, int j) PROPWASH_LAMBDA { return x[i] * y[j] - y[i] * x[j]; };
  const W u = area(1, 2), v = area(2, 0), w = area(0, 1);
  const W whole = u + v + w;
  const W slack = (abs(u) + abs(v) + abs(w)) * (2 * epsilon);
  const auto one_way = min(min(u, v), w) > -slack;
  const auto other_way = max(max(u, v), w) < slack;
  const W t = (u * z[0] + v * z[1] + w * z[2]) * safe_inverse(whole);
  const auto crosses = abs(dot(d, normal)) > W(16 * epsilon);  // otherwise dominated by rounding
  const auto meets = both(both(either(one_way, other_way), crosses), t > zero<W>());
  const Vec3<W> n{W(normal.x), W(normal.y), W(normal.z)};
  return {select(meets, t, infinite<W>()), against(n, d)};
}

}  // namespace propwash
