#pragma once
/// @file
/// Forward declarations of the main types, with their default template arguments.

namespace propwash {

/// Template argument of an array whose size is known only at run time.
inline constexpr int Dynamic = -1;

template <class T>
struct Vec3;
template <class T>
struct Quat;
template <class T>
struct Mat3;
template <class T, int N>
struct SmallArray;

struct VehicleParameters;
struct CarParameters;

template <class T, int N>
struct MulticopterState;
template <int N = Dynamic, class T = double>
class Multicopter;

template <class T>
struct CarState;
template <class T>
class Car;

template <class Vehicle, class T = float>
class Fleet;
template <class T, int N>
class Fleet<Multicopter<N>, T>;
template <class Vehicle, class T = double>
class FleetGradient;
template <class T, int N>
class FleetGradient<Multicopter<N>, T>;

struct SceneItem;
class Scene;
template <class T>
class SceneIndex;

}  // namespace propwash
