#!/bin/sh
# Compiles Page.kt: build.sh OUT. The compiler wants its libraries one by one, and warns about the JDK that it runs on. It is slow: what is built stays.
set -eu
if [ "$1/page.jar" -nt Page.kt ] && [ "$1/page.jar" -nt "$1/got" ]; then exit 0; fi
libraries=$(printf '%s:' "$1"/lib/*.jar)
../java-common/jdk java -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
	-cp "$1/compiler/*" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler \
	-no-stdlib -no-reflect -nowarn -jvm-target 21 -cp "${libraries%:}" -d "$1/page.jar" Page.kt
