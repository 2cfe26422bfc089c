/* Extends pytest-html's table: filters, rows that expand to their command and output, and clicks
   that do not redraw ten thousand rows. It loads nothing and stores nothing. */
(() => {
  "use strict";
  const shown = document.currentScript.dataset;
  const many = Number(shown.items) > Number(shown.most);
  const url = new URL(location.href);
  if (many && !url.searchParams.has("visible")) {
    url.searchParams.set("visible", "failed,error,skipped,rerun,xfailed,xpassed");
    history.replaceState({}, "", url.href);
  }

  const bar = document.createElement("div");
  const picks = {};
  const make = (name, kind, label) => {
    const one = document.createElement(kind);
    one.setAttribute("aria-label", label);
    one.addEventListener("input", apply);
    picks[name] = one;
    bar.append(one);
    return one;
  };
  const option = (select, value, label) => select.append(new Option(label, value));
  const table = () => document.getElementById("results-table");
  const rows = () => [...table().querySelectorAll("tbody.results-table-row")];
  const about = (row) => row.querySelector(".col-testId")?.dataset ?? {};
  const count = document.createElement("span");

  function matches(row, words) {
    const { n = "", r = "", o = "" } = about(row);
    if (picks.node.value && !n.split(" ").includes(picks.node.value)) return false;
    if (picks.rung.value && r !== picks.rung.value) return false;
    if (picks.outcome.value && o !== picks.outcome.value) return false;
    if (!words.length) return true;
    const text = row.querySelector(".collapsible").textContent.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function apply() {
    const words = picks.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const row of rows()) {
      const fits = matches(row, words);
      row.classList.toggle("rg-out", !fits);
      visible += fits;
    }
    count.textContent = `${visible} of ${shown.items} rows`;
  }

  function fill(select, all, label) {
    option(select, "", label);
    all.forEach((value) => option(select, value, value));
  }

  function controls() {
    bar.id = "rg-filter";
    make("text", "input", "filter rows by text").placeholder = "filter rows by text";
    const lists = JSON.parse(document.getElementById("rg-lists").textContent);
    fill(make("rung", "select", "rung"), lists.rungs, "all rungs");
    fill(make("node", "select", "node"), lists.nodes, "all nodes");
    fill(make("outcome", "select", "outcome"), lists.outcomes, "all outcomes");
    bar.append(count);
    if (many) {
      const all = document.createElement("button");
      all.id = "rg-all";
      all.textContent = "show passed rows too";
      all.addEventListener("click", () => {
        document.querySelector('input[data-test-result="passed"]').click();
        all.remove();
      });
      bar.append(all);
    }
    document.querySelector(".controls").after(bar);
  }

  const cases = () => JSON.parse(document.getElementById("rg-cases").textContent);
  let known = null;

  function part(parent, name, text) {
    const one = document.createElement(name);
    one.textContent = text;
    parent.append(one);
    return one;
  }

  function tell(row) {
    const cell = row.querySelector("td.extra");
    const link = row.querySelector(".col-links a");
    if (!link || cell.querySelector(".rg-case")) return;
    known ??= cases();
    const told = known[link.getAttribute("href")];
    const box = document.createElement("div");
    box.className = "rg-case";
    for (const command of told?.commands ?? []) {
      part(box, "div", `${command.role} on ${command.node}, ${command.ended}`);
      part(box, "pre", `$ ${command.argv}`);
    }
    if (told?.output) part(box, "pre", told.output);
    if (!told) part(box, "div", "Too long to show here; see the transcript.");
    const whole = part(box, "a", `full transcript: ${link.getAttribute("href")}`);
    whole.href = link.getAttribute("href");
    cell.prepend(box);
  }

  function toggle(event) {
    const head = event.target.closest?.("#results-table tr.collapsible");
    if (!head || event.target.closest("a")) return;
    event.stopPropagation();
    const row = head.parentElement;
    const closed = row.querySelector(".extras-row").classList.toggle("hidden");
    head.querySelector(".col-result").classList.toggle("collapsed", closed);
    if (!closed) tell(row);
  }

  document.addEventListener("click", toggle, true);
  document.addEventListener("DOMContentLoaded", () => {
    controls();
    const after = document.getElementById("rg-after");
    if (after) document.body.append(after);
    apply();
    new MutationObserver((changes) => {
      if (changes.some((change) => [...change.addedNodes].includes(table()))) apply();
    }).observe(document.body, { childList: true });
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  });
})();
