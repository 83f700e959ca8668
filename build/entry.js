#!/usr/bin/env node
/*
 * What is run: asks whether this Node.js is new enough before the program itself is read, which an older one would take for nonsense and
 * show whole. So this file is written in what Node.js 10 reads. `0.0.0` is what package.json asks for, put in as it is built.
 */
(function () {
  var needed = "0.0.0";
  var found = process.versions.node;

  function isOlder() {
    var wanted = needed.split(".");
    var given = found.split(".");
    for (var at = 0; at < 3; at += 1) {
      var difference = parseInt(given[at], 10) - parseInt(wanted[at], 10);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  if (!isOlder()) return import("./program/start.js");
  var environment = process.env;
  var language = environment.LC_ALL || environment.LC_MESSAGES || environment.LANG || "";
  process.stderr.write(
    /^zh(?![a-z])/i.test(language)
      ? "greenhouse2mqtt 需要 Node.js " +
          needed +
          " 或更新的版本，而 " +
          process.execPath +
          " 是 " +
          found +
          "；请安装较新的版本 (https://nodejs.org)\n"
      : "greenhouse2mqtt needs Node.js " +
          needed +
          " or newer, and " +
          process.execPath +
          " is " +
          found +
          "; install a newer one (https://nodejs.org)\n",
  );
  process.exitCode = 2;
})();
