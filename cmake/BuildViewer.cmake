# Run by the build (cmake -P): bundles the viewer's page, given NODE, NPM, SOURCE (viewer/), WORK (a
# folder of the build) and OUT. Where npm cannot fetch the packages, because there is no network,
# the build goes on without a viewer, says so, and tries again the next time.
file(MAKE_DIRECTORY "${WORK}")
file(COPY "${SOURCE}/package.json" "${SOURCE}/package-lock.json" "${SOURCE}/.npmrc"
     "${SOURCE}/build.mjs" "${SOURCE}/src" DESTINATION "${WORK}")
file(SHA256 "${SOURCE}/package-lock.json" wanted)
set(installed "")
if(EXISTS "${WORK}/installed")
  file(READ "${WORK}/installed" installed)
endif()
if(NOT installed STREQUAL wanted)
  # No package of the list has a script to run, and none is to run one.
  execute_process(COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund --loglevel=error
                  WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed OUTPUT_QUIET
                  ERROR_VARIABLE said TIMEOUT 300)
  if(failed)
    string(SUBSTRING "${said}" 0 400 said)
    message(WARNING "no viewer: npm could not fetch three.js, uPlot and esbuild: ${said}\n"
                    "cycloid.view will say so; build again when there is a network.")
    return()
  endif()
  file(WRITE "${WORK}/installed" "${wanted}")
endif()
execute_process(COMMAND "${NODE}" build.mjs "${OUT}" WORKING_DIRECTORY "${WORK}"
                COMMAND_ERROR_IS_FATAL ANY)
