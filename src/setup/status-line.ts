export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows what is going on in one line at the foot of a terminal, which is drawn over; nothing elsewhere. */
export class StatusLine {
  readonly isShown: boolean;
  readonly #screen: Screen;
  #text = "";

  constructor(screen: Screen, isShown = screen.isTTY === true) {
    this.#screen = screen;
    this.isShown = isShown;
  }

  show(text: string): void {
    this.#clear();
    // A wrapped line could not be removed again. A terminal that does not know its width says 0.
    const { columns = 0 } = this.#screen;
    this.#text = text.slice(0, (columns > 0 ? Math.max(20, columns) : 80) - 1);
    this.#draw();
  }

  /** Writes other output above the line. */
  above(write: () => void): void {
    this.#clear();
    write();
    this.#draw();
  }

  end(): void {
    this.#clear();
    this.#text = "";
  }

  #clear(): void {
    if (this.isShown && this.#text !== "") this.#screen.write("\r\u001b[K");
  }

  #draw(): void {
    if (this.isShown && this.#text !== "") this.#screen.write(this.#text);
  }
}
