// A table that is changed, not drawn again: each row is known by its key, and only what differs is written.

import { make, mark, write } from "./words.js";

/** Time for rows in every frame, however long what comes before them took: else nothing would ever be shown. */
const LEAST = 5;

/**
 * columns: { title, className, cell(td, row, key, now), first?(td), by?(row, key), ages? }
 *   `first` builds what a cell keeps; `cell` writes into it; a column with `by` can be sorted; one with `ages` grows old.
 */
export class Table {
  #columns;
  #lines = new Map();
  #body;
  #empty;
  #heads = [];
  #sort;
  #changed;
  /** Lines that have to grow old yet, and where that goes on: whoever is slow begins with the ones that had no turn. */
  #aging = 0;
  #turn = [].values();

  constructor(place, { name, label, columns, empty, sort, changed }) {
    this.#columns = columns;
    this.#sort = sort;
    this.#changed = changed;
    const table = make("table", `list ${name}`);
    // Rows are laid out as grids, which takes the meaning of a table away from some readers; this gives it back.
    table.setAttribute("role", "table");
    table.setAttribute("aria-labelledby", label);
    const head = make("thead");
    head.setAttribute("role", "rowgroup");
    const line = make("tr");
    line.setAttribute("role", "row");
    columns.forEach((column, at) => line.append(this.#head(column, at)));
    head.append(line);
    this.#body = make("tbody");
    this.#body.setAttribute("role", "rowgroup");
    table.append(head, this.#body);
    this.#empty = make("p", "empty", empty);
    place.append(table, this.#empty);
    this.table = table;
    this.#point();
  }

  #head(column, at) {
    const head = make("th", column.className);
    head.setAttribute("role", "columnheader");
    head.scope = "col";
    if (column.by) {
      const button = make("button", "sort", column.title);
      button.type = "button";
      button.addEventListener("click", () => {
        this.#sort = { at, down: this.#sort.at === at ? !this.#sort.down : false };
        this.#point();
        this.#changed();
      });
      head.append(button);
    } else {
      head.append(column.title);
    }
    this.#heads.push(head);
    return head;
  }

  #point() {
    this.#heads.forEach((head, at) => {
      const way = this.#sort.down ? "descending" : "ascending";
      mark(head, "aria-sort", this.#columns[at].by && this.#sort.at === at ? way : undefined);
    });
  }

  /** Brings the table to these rows, [key, row] each; false if time ran out before it was done. */
  update(rows, now, deadline) {
    const held = document.activeElement;
    const end = Math.max(deadline, performance.now() + LEAST);
    const done = this.#arrange(rows, now, end) && this.#age(now, end);
    // What is moved loses the focus.
    if (held !== document.activeElement && this.#body.contains(held)) held.focus({ preventScroll: true });
    return done;
  }

  #arrange(rows, now, end) {
    const { at, down } = this.#sort;
    const by = this.#columns[at].by;
    const keyed = rows.map(([key, row]) => [by(row, key), key, row]);
    keyed.sort(([a, m], [b, n]) => (a === b ? (m < n ? -1 : 1) : (a < b ? -1 : 1) * (down ? -1 : 1)));
    const wanted = new Set(rows.map(([key]) => key));
    for (const [key, line] of this.#lines) {
      if (!wanted.has(key)) {
        line.element.remove();
        this.#lines.delete(key);
      }
    }
    this.#empty.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    let next = this.#body.firstElementChild;
    let written = false;
    for (const [, key, row] of keyed) {
      let line = this.#lines.get(key);
      // Of two that have changed places, the one moves that comes later now.
      if (line && next && next !== line.element && next.nextElementSibling === line.element) next = line.element;
      // Only what is written counts: were rows that stay to use the time up, the last of thousands would never be reached.
      if (line?.row === row && line.element === next) {
        next = next.nextElementSibling;
        continue;
      }
      if (written && performance.now() > end) return false;
      written = true;
      if (!line) {
        line = this.#line(key);
        this.#lines.set(key, line);
      }
      if (line.row !== row) {
        line.row = row;
        this.#columns.forEach((column, place) => column.cell(line.cells[place], row, key, now));
      }
      if (line.element === next) next = next.nextElementSibling;
      else this.#body.insertBefore(line.element, next);
    }
    return true;
  }

  /** Lets grow old what does, from the next update on. */
  tick() {
    this.#aging = this.#lines.size;
  }

  #age(now, end) {
    const columns = this.#columns.map((column, place) => [column, place]).filter(([column]) => column.ages);
    for (; this.#aging > 0; this.#aging -= 1) {
      if (performance.now() > end) return false;
      let next = this.#turn.next();
      if (next.done) {
        this.#turn = this.#lines.entries();
        next = this.#turn.next();
        if (next.done) break;
      }
      const [key, line] = next.value;
      for (const [column, place] of columns) column.cell(line.cells[place], line.row, key, now);
    }
    return true;
  }

  #line(key) {
    const element = make("tr");
    element.setAttribute("role", "row");
    const cells = this.#columns.map((column, place) => {
      const cell = make(place === 0 ? "th" : "td", column.className);
      cell.setAttribute("role", place === 0 ? "rowheader" : "cell");
      if (place === 0) cell.scope = "row";
      cell.dataset.label = column.title;
      column.first?.(cell, key);
      element.append(cell);
      return cell;
    });
    element.dataset.key = key;
    return { element, cells, row: null };
  }
}

/** A column of plain text. */
export function text(title, className, say, more = {}) {
  const by = more.by === undefined ? (row, key) => say(row, key, 0) ?? "" : more.by;
  return { title, className, cell: (cell, row, key, now) => write(cell, say(row, key, now) ?? ""), ...more, by };
}
