/** SQLite databases that are closed at the end of their block. */
import { DatabaseSync } from "node:sqlite";

/** A database; Deno 2.5 has none that can be disposed. */
export class Database extends DatabaseSync {
  override [Symbol.dispose](): void {
    this.close();
  }
}
