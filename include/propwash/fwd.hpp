#pragma once
/// @file
/// Forward declarations of the main types.

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
template <int N, class T>
class Multicopter;

template <class T>
struct CarState;
template <class T>
class Car;

template <class T, int N>
class Fleet;

struct SceneItem;
class Scene;
template <class T>
class SceneIndex;

}  // namespace propwash
