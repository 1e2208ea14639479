# Sourced by ./holdfast and bench/run, which set $root: find a JDK, build when the build is missing or stale, start Java.
#
#   MODULE/target/launch/
#     build.lock       whoever builds holds it
#     build.log        what Maven said
#     build-of-MODULE  (in every module: target/build-of-MODULE) classes and jars, apart from those of 'mvn verify'
#     lib/             the product's jars, copied, so that a later build does not pull them from under a running JVM
#     classpath        one line
#     start.aot        classes parsed and linked in advance
#     stamp            written last; newer sources make the build stale

least_java=25

# fail EXIT CATEGORY MESSAGE ACTION: one line, as JSON if that was asked for.
fail() {
  if [ "$json" = yes ]; then
    printf '{"error":{"category":"%s","message":"%s","action":"%s"}}\n' "$2" "$(escaped "$3")" "$(escaped "$4")"
  else
    printf '%s: %s; %s\n' "$program" "$3" "$4" >&2
  fi
  exit "$1"
}

escaped() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '%s' "${text//$'\n'/ }"
}

# The major version of the JDK in a folder, read from its 'release' file: starting Java to ask would cost 40 ms.
java_version() {
  local line
  [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 1
  while IFS= read -r line; do
    case $line in
      JAVA_VERSION=*)
        line=${line#JAVA_VERSION=\"}
        line=${line%%[.\"+-]*}
        [ "$line" -ge "$least_java" ] 2>/dev/null
        return
        ;;
    esac
  done <"$1/release"
  return 1
}

java_on_path() {
  local java link
  java=$(command -v java) || return 1
  while [ -L "$java" ]; do
    link=$(readlink "$java")
    case $link in /*) java=$link ;; *) java=$(dirname "$java")/$link ;; esac
  done
  dirname "$(dirname "$java")"
}

find_java() {
  local candidate folders=()
  if [ -n "${HOLDFAST_JDKS:-}" ]; then # instead of the usual folders
    folders=("$HOLDFAST_JDKS"/*)
  else
    folders=(/usr/lib/jvm/* /opt/* /opt/*/* /usr/java/* /usr/local/*jdk* "${HOME:-/}"/.sdkman/candidates/java/*
      "${HOME:-/}"/.jdks/* /Library/Java/JavaVirtualMachines/*/Contents/Home
      "${HOME:-/}"/Library/Java/JavaVirtualMachines/*/Contents/Home /opt/homebrew/opt/openjdk*
      /usr/local/opt/openjdk*)
  fi
  for candidate in "${JAVA_HOME:-}" "$(java_on_path || true)" "${folders[@]}"; do
    if [ -n "$candidate" ] && java_version "$candidate"; then
      java_home=$candidate
      return
    fi
  done
  fail 3 GONE "no JDK $least_java or newer was found (JAVA_HOME, PATH, the usual folders)" \
    "install one beside the Java you have, or set JAVA_HOME to it; see README.md, Requirements"
}

# Whether a source, a pom or a folder (something was deleted) is newer than the build.
is_stale() {
  [ -f "$launch_folder/stamp" ] && [ -f "$launch_folder/classpath" ] || return 0
  local module places=("$root/pom.xml")
  for module in $modules; do
    places+=("$root/$module/pom.xml" "$root/$module/src/main")
  done
  [ -n "$(find "${places[@]}" -newer "$launch_folder/stamp" -print -quit 2>/dev/null)" ]
}

# A lock that dies with its holder: flock where there is one, otherwise a link that names the process.
lock_build() {
  if command -v flock >/dev/null; then
    exec 9>"$launch_folder/build.lock"
    if ! flock -n 9; then
      printf '%s: waiting for another build\n' "$program" >&2
      flock 9
    fi
    return
  fi
  local holder told=
  until ln -s "$$" "$launch_folder/build.link" 2>/dev/null; do
    holder=$(readlink "$launch_folder/build.link" || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
      rm -f "$launch_folder/build.link"
      continue
    fi
    [ -n "$told" ] || printf '%s: waiting for another build\n' "$program" >&2
    told=yes
    sleep 0.2
  done
}

unlock_build() {
  if command -v flock >/dev/null; then exec 9>&-; else rm -f "$launch_folder/build.link"; fi
}

has_room() {
  local probe=$launch_folder/room
  if ! dd if=/dev/zero of="$probe" bs=65536 count=64 2>/dev/null; then
    rm -f "$probe"
    return 1
  fi
  rm -f "$probe"
}

build() {
  command -v mvn >/dev/null || fail 3 GONE "Maven is needed to build Holdfast, and there is no 'mvn' on the PATH" \
    "install Maven 3.8.7 or newer; see README.md, Requirements"
  local said log=$launch_folder/build.log
  said=$(mkdir -p "$launch_folder" 2>&1) || fail 1 FULL "cannot build: $said" "make room, or move the source tree"
  has_room || fail 1 FULL "no space left for the build in $launch_folder" "make some room (about 200 MB) and run it again"
  lock_build
  if ! is_stale; then # somebody else has built meanwhile
    unlock_build
    return
  fi
  rm -f "$launch_folder/stamp"
  printf '%s: building once, this takes a minute or two (log: %s)\n' "$program" "$log" >&2
  local folder=target/build-of-$module_to_launch status=0
  JAVA_HOME=$java_home mvn -B -ntp -f "$root/pom.xml" -pl "$module_to_launch" -am -Dquick -Dcompiler.strictness=-nowarn \
    -Dmaven.test.skip=true -Djacoco.skip=true -Dbuild.folder="$folder" package dependency:build-classpath -DincludeScope=runtime \
    -Dmdep.outputFile="$launch_folder/dependencies" >"$log" 2>&1 9>&- &
  local maven=$!
  trap 'kill "$maven" 2>/dev/null; exit 130' INT TERM
  watch_build "$maven" "$log"
  wait "$maven" || status=$?
  trap - INT TERM
  if [ "$status" != 0 ]; then
    explain_failure "$log"
  fi
  collect "$folder" >>"$log" 2>&1 || explain_failure "$log"
  touch "$launch_folder/stamp.new"
  mv "$launch_folder/stamp.new" "$launch_folder/stamp"
  unlock_build
}

# On a terminal, one line that shows which module is being built.
watch_build() {
  [ -t 2 ] || return 0
  local begin=$SECONDS at
  while kill -0 "$1" 2>/dev/null; do
    at=$(sed -n 's/^\[INFO\] Building \(.*\) [^ ]* *\(\[.*\]\)$/\2 \1/p' "$2" | tail -n 1)
    printf '\r\033[K%s: %3d s %s' "$program" "$((SECONDS - begin))" "$at" >&2
    sleep 0.3
  done
  printf '\r\033[K' >&2
}

explain_failure() {
  if [ "$verbose" = yes ]; then cat "$1" >&2; fi
  if ! has_room || grep -q 'No space left on device' "$1"; then
    fail 1 FULL "no space left for the build in $launch_folder" "make some room (about 200 MB) and run it again"
  fi
  if grep -qE 'Could not transfer|Unknown host|UnknownHost|Connection refused|timed out|unreachable|offline mode' "$1"; then
    fail 4 RETRY "the build cannot download what it needs (log: $1)" \
      "check the network and Maven's settings, then run it again"
  fi
  fail 1 BUILD "the build failed (log: $1)" "read the log, or run it again with --verbose to see it here"
}

# The product's jars into lib, the class path into its file, and the archive that makes starts fast.
collect() {
  local entry line='' own jars=()
  rm -rf "$launch_folder/lib" "$launch_folder/start.aot"
  mkdir -p "$launch_folder/lib"
  own=$(echo "$root/$module_to_launch/$1"/holdfast-"$module_to_launch"-*.jar)
  IFS=: read -r -a jars <"$launch_folder/dependencies"
  for entry in "$own" "${jars[@]}"; do
    case $entry in
      "$root"/*) cp "$entry" "$launch_folder/lib/" && entry=$launch_folder/lib/${entry##*/} ;;
    esac
    line=$line${line:+:}$entry
  done
  printf '%s\n' "$line" >"$launch_folder/classpath.new"
  mv "$launch_folder/classpath.new" "$launch_folder/classpath"
  printf '%s\n' "$java_home" >"$launch_folder/java"
  # A start without the archive is slower and nothing else, so a failure here is no failure.
  "$java_home/bin/java" "${java_flags[@]}" -XX:AOTCacheOutput="$launch_folder/start.aot" -cp "$line" "$main_class" \
    --help >/dev/null || true
}

# launch MODULE PROGRAM MAIN-CLASS ARGUMENTS...
launch() {
  module_to_launch=$1 program=$2 main_class=$3
  shift 3
  launch_folder=$root/$module_to_launch/target/launch
  json=no verbose=no java_home=
  local argument terminal=
  for argument in "$@"; do
    case $argument in
      --json) json=yes ;;
      --verbose) verbose=yes ;;
      --) break ;;
    esac
  done
  modules="core embedded redis sweep slab app"
  [ "$module_to_launch" = app ] || modules="$modules testkit $module_to_launch"

  java_flags=(-Xlog:disable -Xlog:all=error:stderr --enable-native-access=ALL-UNNAMED)
  case $module_to_launch,${1:-} in
    bench,* | app,serve | app,demo | app,sweep) ;; # long work: the JVM's own choices
    *) java_flags+=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx512m) ;;
  esac

  if is_stale; then
    find_java
    build
  fi
  IFS= read -r java_home <"$launch_folder/java" || true
  if ! java_version "$java_home"; then
    find_java
  fi
  local classpath
  IFS= read -r classpath <"$launch_folder/classpath"
  if [ -f "$launch_folder/start.aot" ]; then
    java_flags+=(-XX:AOTCache="$launch_folder/start.aot")
  fi
  [ ! -t 1 ] || terminal=out
  [ ! -t 2 ] || terminal=$terminal,err
  if [ -n "$terminal" ]; then
    shopt -s checkwinsize
    (:) # after a command bash knows how wide the terminal is
    export COLUMNS
  fi
  exec "$java_home/bin/java" "${java_flags[@]}" -Dio.holdfast.terminal="$terminal" -Dio.holdfast.root="$root" \
    -cp "$classpath" "$main_class" "$@"
}
