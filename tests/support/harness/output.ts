/** Output of processes. */

/** Collects the output of a process, so that its pipe never fills up. */
export class Output {
  text = "";
  readonly done: Promise<void>;
  #searches: {
    readonly pattern: RegExp;
    readonly resolve: (match: RegExpExecArray | null) => void;
  }[] = [];

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.done = this.#collect(stream);
  }

  /** Resolves to the first match; null if the stream ends without one. */
  match(pattern: RegExp): Promise<RegExpExecArray | null> {
    const { promise, resolve } = Promise.withResolvers<RegExpExecArray | null>();
    this.#searches.push({ pattern, resolve });
    this.#search();
    return Promise.race([promise, this.done.then(() => pattern.exec(this.text))]);
  }

  #search(): void {
    this.#searches = this.#searches.filter(({ pattern, resolve }) => {
      const match = pattern.exec(this.text);
      if (match !== null) resolve(match);
      return match === null;
    });
  }

  async #collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      this.text += part;
      this.#search();
    }
  }
}
