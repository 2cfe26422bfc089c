/* Filters, sorts and searches the rows, which are all in the page, and keeps the choice in the
   address. It loads nothing and stores nothing; without it the page reads the same. */
(() => {
  "use strict";
  const form = document.getElementById("filter");
  const list = document.getElementById("groups");
  if (!form || !list) return;
  const pick = form.elements;
  const FEW = 300;
  /* A phone shows the headings; a link opens what it names. */
  if (innerWidth <= 700) document.querySelectorAll("details").forEach((one) => (one.open = false));
  const groups = [...list.children].map((box, order) => ({ box, order, wasOpen: box.open }));
  let known = null;

  /* The texts of ten thousand rows are read when the first filter asks for them. */
  const rows = () =>
    (known ??= groups.map((group) => {
      const body = group.box.querySelector("tbody");
      const all = [...body.rows].map((row, order) => ({
        row,
        order,
        text: row.textContent.toLowerCase(),
        nodes: (row.dataset.n ?? "").split(" "),
      }));
      return { ...group, body, all, count: group.box.querySelector("summary span") };
    }));

  const NUMBER = /-?\d+(?:\.\d+)?/;
  const cell = (one, index) => Number(one.row.cells[index].textContent.match(NUMBER)?.[0] ?? NaN);
  const KEYS = {
    margin: (one) => Number(one.row.dataset.m ?? NaN),
    measured: (one) => cell(one, 2),
    limit: (one) => cell(one, 3),
  };

  /* What has no number is last in both directions. */
  const by = (key, sign) => (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a.order - b.order;
    return sign * (x - y) || a.order - b.order;
  };

  function sort() {
    const key = KEYS[pick.sort.value];
    const order = key ? by(key, pick.down.checked ? -1 : 1) : (a, b) => a.order - b.order;
    for (const group of rows()) group.body.append(...group.all.sort(order).map((one) => one.row));
    const first = (group) => ({ ...group.all[0], order: group.order, group });
    const sorted = rows().map(first);
    if (key && pick.sort.value === "margin") sorted.sort(order);
    list.append(...sorted.map(({ group }) => group.box));
  }

  function fits(one, group, words) {
    if (pick.node.value && !one.nodes.includes(pick.node.value)) return false;
    if (pick.rung.value && group.box.dataset.r !== pick.rung.value) return false;
    if (pick.outcome.value && one.row.cells[1].textContent !== pick.outcome.value) return false;
    return words.every((word) => one.text.includes(word) || group.about.includes(word));
  }

  function filter() {
    const words = pick.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asks = words.length || pick.node.value || pick.rung.value || pick.outcome.value;
    document.querySelectorAll("tr.detail").forEach((row) => row.remove());
    let shown = 0;
    let all = 0;
    for (const group of rows()) {
      group.about ??= group.box.querySelector("summary b").textContent.toLowerCase();
      group.label ??= group.count.textContent;
      group.found = 0;
      for (const one of group.all) {
        one.row.hidden = !fits(one, group, words);
        group.found += !one.row.hidden;
      }
      all += group.all.length;
      shown += group.found;
      group.box.hidden = !group.found;
      const some = group.found < group.all.length;
      group.count.textContent = some ? `${group.label}; ${group.found} shown` : group.label;
    }
    for (const group of rows()) {
      group.box.open = asks ? shown <= FEW && group.found > 0 : group.wasOpen;
    }
    form.querySelector("output").textContent = `${shown} of ${all} rows`;
  }

  const NAMES = ["q", "rung", "node", "outcome", "sort", "down"];
  const value = (name) => (name === "down" ? (pick.down.checked ? "1" : "") : pick[name].value);

  function keep() {
    const url = new URL(location.href);
    for (const name of NAMES) {
      if (value(name)) url.searchParams.set(name, value(name));
      else url.searchParams.delete(name);
    }
    try {
      history.replaceState({}, "", url.href);
    } catch {
      /* Some viewers have no address of their own. */
    }
  }

  function restore() {
    const asked = new URL(location.href).searchParams;
    for (const name of NAMES) {
      if (!asked.has(name)) continue;
      if (name === "down") pick.down.checked = true;
      else pick[name].value = asked.get(name);
    }
    if (NAMES.some((name) => asked.has(name))) apply();
  }

  function apply() {
    if (pick.sort.value || known) sort();
    filter();
    keep();
  }

  /* Opens the command and output of a row below it; the link is a link without script too. */
  function tell(link) {
    const row = link.closest("tr");
    const next = row.nextElementSibling;
    const isOpen = next?.classList.contains("detail");
    if (isOpen) next.remove();
    else {
      const detail = document.createElement("tr");
      detail.className = "detail";
      const inside = detail.insertCell();
      inside.colSpan = row.cells.length;
      const from = document.getElementById(link.hash.slice(1));
      [...from.children].slice(1).forEach((part) => inside.append(part.cloneNode(true)));
      row.after(detail);
    }
    link.setAttribute("aria-expanded", String(!isOpen));
  }

  /* A link to something that is closed or filtered opens what holds it. */
  function reveal() {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found) return;
    if (found.hidden) form.reset();
    for (let up = found; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    found.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#c"]');
    if (link && link.closest("#groups") && /^#c\d+$/.test(link.hash)) {
      event.preventDefault();
      tell(link);
    }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", reveal);
  form.hidden = false;
  restore();
  reveal();
})();
