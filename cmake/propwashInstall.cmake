# Installs headers, CMake package, pkg-config file and licence. All paths are relative, so that the tree
# is relocatable; in the wheel its root is the Python package.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/propwash" DESTINATION include
        FILES_MATCHING PATTERN "*.hpp" REGEX "/nvrtc/[a-z_]+$")

set(_propwash_cmake_dir share/cmake/propwash)
install(TARGETS propwash EXPORT propwashTargets)
if(PROPWASH_BUILD_STATIC)
  install(TARGETS propwash_static EXPORT propwashTargets ARCHIVE DESTINATION lib)
endif()
install(EXPORT propwashTargets NAMESPACE propwash:: DESTINATION ${_propwash_cmake_dir})
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/propwashConfig.cmake.in" "${PROJECT_BINARY_DIR}/propwashConfig.cmake"
  INSTALL_DESTINATION ${_propwash_cmake_dir} NO_SET_AND_CHECK_MACRO)
set(_propwash_architecture ARCH_INDEPENDENT)
if(PROPWASH_BUILD_STATIC)
  set(_propwash_architecture)
endif()
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/propwashConfigVersion.cmake" COMPATIBILITY SameMinorVersion
  ${_propwash_architecture})
install(
  FILES "${PROJECT_BINARY_DIR}/propwashConfig.cmake"
        "${PROJECT_BINARY_DIR}/propwashConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/propwashEigen.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/propwashEmbree.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/propwashRender.cmake"
  DESTINATION ${_propwash_cmake_dir})

configure_file("${PROJECT_SOURCE_DIR}/cmake/propwash.pc.in" "${PROJECT_BINARY_DIR}/propwash.pc"
               @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/propwash.pc" DESTINATION share/pkgconfig)

if(NOT SKBUILD) # a wheel has the licence in its metadata
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION share/licenses/propwash)
endif()
