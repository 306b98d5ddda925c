#!/bin/sh
# gpu-tests.sh JAR              runs the tests tagged "gpu" on this machine's GPUs: a JDK 25 (JAVA, or java on the PATH) and the jar are all it takes
# gpu-tests.sh --pack PATH JAR  makes the jar out of the folders and jars of a class path
set -eu
if [ "${1:-}" = --pack ]; then
    out=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    IFS=:
    for part in $2; do
        if [ -d "$part" ]; then
            cp -R "$part/." "$work/"
        elif [ -f "$part" ]; then
            (cd "$work" && unzip -qo "$part" -x 'META-INF/*.SF' 'META-INF/*.RSA' 'META-INF/*.DSA' module-info.class \
                'META-INF/versions/*/module-info.class' 2>/dev/null || [ $? -eq 11 ])
        fi
    done
    rm -f "$work/module-info.class"
    printf 'Main-Class: org.junit.platform.console.ConsoleLauncher\nEnable-Native-Access: ALL-UNNAMED\nMulti-Release: true\n' \
        > "$work/manifest"
    (cd "$work" && "${JAR:-jar}" --create --file "$out" --manifest manifest .)
    exit 0
fi
exec "${JAVA:-java}" -Dmooncake.cuda=device -jar "${1:-gpu-tests.jar}" execute --include-tag gpu \
    --scan-classpath "${1:-gpu-tests.jar}" --include-package io.mooncake.cuda --details tree --fail-if-no-tests
