#pragma once
/// @file
/// Forward declarations of the main types, with their default template arguments.

namespace propwash {

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
template <int N = -1, class T = double>  // Dynamic, of math/small_array.hpp
class Multicopter;

template <class T>
struct CarState;
template <class T>
class Car;

template <class Vehicle, class T = float>
class Fleet;
template <class Vehicle, class T = double>
class FleetGradient;

struct SceneItem;
class Scene;
template <class T>
class SceneIndex;

}  // namespace propwash
