// Before the first paint: the theme that the person chose, so that the page does not flash.
"use strict";
const chosen = (() => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // Storage may be forbidden; the system's theme then.
  }
})();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
