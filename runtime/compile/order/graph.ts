/**
 * What the search for an order sees of a program: nodes that read and make values, and the bytes of each value.
 *
 * Values are numbered; so are nodes, and their numbers are the program's own order, which is always legal. The rules of
 * what is alive when are stated here once, and implemented twice: by the search, and by its judge.
 *
 * - Inputs take room from the start. A donated one is freed after its last use, any other never.
 * - While a node runs, its operands, its results and its scratch bytes are all present.
 * - A result may take over an operand named in `overwrites` if this node is that operand's last use, the bytes are equal,
 *   the operand is read once in the node, is no output, and is no input that was not donated. Results take operands in
 *   the order of `overwrites`; each takes at most one, and each operand is taken once.
 * - Outputs stay to the end. A result that nobody reads is freed at once. A view has results of 0 bytes only if what it
 *   looks at is kept alive by others: model it by reading the viewed value where the view is read.
 *
 * Depends on: nothing.
 */
export interface Graph {
  /** Bytes of each value. */
  readonly bytes: readonly number[];
  readonly inputs: readonly Input[];
  readonly nodes: readonly Node[];
  /** Values that outlive the program. An input may be one. */
  readonly outputs: readonly number[];
}

export interface Input {
  readonly value: number;
  readonly donated: boolean;
}

export interface Node {
  /** Values; one that is read twice is named twice. */
  readonly reads: readonly number[];
  readonly makes: readonly number[];
  /** Bytes needed only while the node runs; 0 when absent. */
  readonly scratch?: number;
  readonly overwrites?: readonly { readonly result: number; readonly operand: number }[];
}
