/**
 * Random small programs that are right by construction: every array is freed once on every path, and not used after.
 *
 * The generator keeps, per open block, the arrays that this block must free, and closes each block by freeing what is
 * left; whatever frees an array is a guard, so that mutants know what can be forgotten. Calls, classes, trees, loops,
 * early returns, caught exceptions and scopes all obey the same two rules: an array is freed by the block that made it,
 * and a way out of a function frees what all its open blocks still hold. Depends on: program, seeded, words.
 */
import type { Dialect, Guard, GuardKind, Node, Part, Program } from './program.ts';
import { seeded, type Random } from './seeded.ts';
import { words, type Words } from './words.ts';

interface Variable {
  readonly name: string;
  /** Frees it: a statement's parts. Absent for what the block doesn't own (parameters, fields, what a scope frees). */
  readonly free?: () => readonly Part[];
  /** Something else may take it over: operations in jax-js, a helper that frees its argument elsewhere. */
  readonly takes: boolean;
}

interface Block {
  variables: Variable[];
}

interface Helper {
  readonly name: string;
  readonly parameters: number;
  /** Takes its first argument over (frees or consumes it). */
  readonly takesFirst: boolean;
}

/** One function being written. */
interface Writing {
  readonly blocks: Block[];
  /** May it return in the middle: what the return says, or undefined. */
  readonly early?: string;
  readonly async: boolean;
  /** Only computes: no flags, nothing read. */
  readonly pure: boolean;
  /** Inside a scope: nothing needs freeing, nothing may be awaited. */
  scoped: number;
}

export function generate(dialect: Dialect, seed: number): Program {
  return new Author(dialect, seed).program();
}

class Author {
  private readonly dialect: Dialect;
  private readonly seed: number;
  private readonly words: Words;
  private readonly random: Random;
  private readonly helpers: Helper[] = [];
  private readonly top: Node[] = [];
  private names = 0;
  private guards = 0;
  private readonly flags: number;

  constructor(dialect: Dialect, seed: number) {
    this.dialect = dialect;
    this.seed = seed;
    this.words = words[dialect];
    this.random = seeded(seed);
    this.flags = 1 + this.random.below(3);
  }

  program(): Program {
    const { random } = this;
    for (let count = random.below(3); count > 0; count--) this.helper();
    const holder = random.chance(0.3) ? this.holder() : undefined;
    const writing: Writing = { blocks: [], early: '', async: this.words.async, pure: false, scoped: 0 };
    const body = this.block(writing, 4 + random.below(6), (nodes) => {
      for (const helper of this.helpers) this.callOnce(writing, helper, nodes);
      if (holder !== undefined) this.useHolder(writing, holder, nodes);
    });
    const flags = Array.from({ length: this.flags }, (_, index) => `f${index}: boolean, `).join('');
    const signature = this.words.async
      ? `export async function main(${flags}out: number[]): Promise<void> {`
      : `export function main(${flags}out: number[]): void {`;
    return {
      dialect: this.dialect,
      seed: this.seed,
      flags: this.flags,
      nodes: [...this.words.header.split('\n').map(line), ...this.top, { kind: 'block', open: [signature], body, close: ['}'] }],
    };
  }

  /* ---- Blocks ------------------------------------------------------------------------------------------------ */

  /** A block's statements; frees at its end what it still owns. */
  private block(writing: Writing, size: number, first?: (nodes: Node[]) => void): Node[] {
    const block: Block = { variables: [] };
    writing.blocks.push(block);
    const nodes: Node[] = [];
    first?.(nodes);
    for (let count = 0; count < size; count++) this.statement(writing, nodes);
    this.closeBlock(writing, block, nodes);
    writing.blocks.pop();
    return nodes;
  }

  private closeBlock(writing: Writing, block: Block, nodes: Node[]): void {
    const left = block.variables.filter(({ free }) => free !== undefined);
    const together = this.words.disposeTree !== undefined && !this.words.consumes && left.length > 1 && this.random.chance(0.3);
    if (together && left.every(({ name }) => /^[a-z]\d+$/.test(name))) {
      nodes.push({ kind: 'line', parts: [this.guard('dispose', `tf.dispose([${left.map(({ name }) => name).join(', ')}]);`, '')] });
    } else {
      for (const variable of left.toReversed()) nodes.push({ kind: 'line', parts: variable.free!() }, ...this.late(writing, variable));
    }
    block.variables = [];
  }

  /** A read that comes too late, where a mutant has it. */
  private late(writing: Writing, { name }: Variable): Node[] {
    if (writing.pure || name.endsWith('?') || writing.scoped > 0 || !this.random.chance(0.3)) return [];
    return [{ kind: 'line', parts: [this.guard('late', '', `${this.words.read(name)};`)] }];
  }

  /** Frees everything that is open, for a way out of the function. */
  private freeAll(writing: Writing): Node[] {
    return writing.blocks
      .flatMap(({ variables }) => variables)
      .filter(({ free }) => free !== undefined)
      .map((variable) => ({ kind: 'line', parts: variable.free!() }));
  }

  private statement(writing: Writing, nodes: Node[]): void {
    const depth = writing.blocks.length;
    const impure = writing.pure ? 0 : 1;
    const choices: (readonly [number, () => void])[] = [
      [4, () => void this.declare(writing, nodes)],
      [impure * 2, () => this.read(writing, nodes)],
      [1, () => this.freeOne(writing, nodes)],
      [depth < 4 ? impure * 2 : 0, () => this.branch(writing, nodes)],
      [depth < 3 ? 1 : 0, () => this.loop(writing, nodes)],
      [depth < 3 && writing.early !== undefined && writing.scoped === 0 ? 0.8 : 0, () => this.leave(writing, nodes)],
      [depth < 3 && writing.scoped === 0 ? 0.8 : 0, () => this.guarded(writing, nodes)],
      [depth < 3 && writing.scoped === 0 ? impure * 0.6 : 0, () => this.caught(writing, nodes)],
      [this.words.scope !== undefined && writing.scoped === 0 ? 1.2 : 0, () => this.scope(writing, nodes)],
      [writing.scoped === 0 ? 0.7 : 0, () => this.tree(writing, nodes)],
      [depth < 3 && writing.scoped === 0 ? 0.6 : 0, () => this.list(writing, nodes)],
      [depth < 3 && writing.scoped === 0 ? 0.8 : 0, () => this.accumulate(writing, nodes)],
      [writing.scoped === 0 ? impure * 0.5 : 0, () => this.perhaps(writing, nodes)],
    ];
    let at = (this.random.below(1000) / 1000) * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, write] of choices) {
      at -= weight;
      if (at < 0) return write();
    }
  }

  /* ---- Statements -------------------------------------------------------------------------------------------- */

  /** `const x = …;` */
  private declare(writing: Writing, nodes: Node[], form?: 'let'): Variable {
    const name = this.name('x');
    const value = this.expression(writing);
    const owned = writing.scoped === 0;
    const usable = this.words.using && owned && form === undefined && this.random.chance(0.3);
    if (usable) {
      nodes.push({ kind: 'line', parts: [this.guard('using', 'using', 'const'), ` ${name} = `, ...value, ';'] });
      return this.own(writing, { name, takes: false });
    }
    nodes.push({ kind: 'line', parts: [`${form ?? 'const'} ${name} = `, ...value, ';'] });
    return this.own(writing, owned ? this.ownedVariable(name) : { name, takes: false });
  }

  private ownedVariable(name: string): Variable {
    return { name, takes: true, free: () => [this.guard('dispose', `${this.words.dispose(name)};`, '')] };
  }

  private own(writing: Writing, variable: Variable): Variable {
    writing.blocks.at(-1)!.variables.push(variable);
    return variable;
  }

  private read(writing: Writing, nodes: Node[]): void {
    if (this.words.async && writing.scoped > 0) return;
    const variable = this.visible(writing);
    if (variable === undefined || (this.words.async && !writing.async)) return;
    nodes.push({ kind: 'line', parts: [...this.around(this.words.read, this.operand(writing, variable)), ';'] });
  }

  /** Frees an array of this block before its end. */
  private freeOne(writing: Writing, nodes: Node[]): void {
    const block = writing.blocks.at(-1)!;
    const candidates = block.variables.filter(({ free }) => free !== undefined);
    if (candidates.length === 0) return;
    const variable = this.random.pick(candidates);
    nodes.push({ kind: 'line', parts: variable.free!() }, ...this.late(writing, variable));
    const tree = /^(t\d+)\./.exec(variable.name)?.[1];
    const freed = (other: Variable): boolean =>
      other === variable || (tree !== undefined && other.free === undefined && other.name.startsWith(`${tree}.`));
    block.variables = block.variables.filter((other) => !freed(other));
  }

  private branch(writing: Writing, nodes: Node[]): void {
    nodes.push({ kind: 'block', open: [`if (${this.flag()}) {`], body: this.block(writing, 1 + this.random.below(3)), close: ['}'] });
    if (this.random.chance(0.4)) {
      nodes.push({ kind: 'block', open: ['else {'], body: this.block(writing, 1 + this.random.below(2)), close: ['}'] });
    }
  }

  private loop(writing: Writing, nodes: Node[]): void {
    const index = this.name('i');
    const open = `for (let ${index} = 0; ${index} < ${2 + this.random.below(2)}; ${index}++) {`;
    nodes.push({ kind: 'block', open: [open], body: this.block(writing, 1 + this.random.below(3)), close: ['}'] });
  }

  /** `if (f0) { …; return; }` */
  private leave(writing: Writing, nodes: Node[]): void {
    const back = writing.early ?? '';
    const leaving = [...this.freeAll(writing), { kind: 'line', parts: [this.guard('return', `return${back};`, '')] } as const];
    nodes.push({ kind: 'block', open: [`if (${this.flag()}) {`], body: leaving, close: ['}'] });
  }

  /** `const x = …; try { … } finally { x.dispose(); }` */
  private guarded(writing: Writing, nodes: Node[]): void {
    const name = this.name('x');
    nodes.push({ kind: 'line', parts: [`const ${name} = `, ...this.expression(writing), ';'] });
    const variable = this.own(writing, { name, takes: false });
    nodes.push({ kind: 'block', open: ['try {'], body: this.block(writing, 1 + this.random.below(3)), close: ['}'] });
    const free: Node = { kind: 'line', parts: [this.guard('dispose', `${this.words.dispose(name)};`, '')] };
    nodes.push({ kind: 'block', open: ['finally {'], body: [free], close: ['}'] });
    const block = writing.blocks.at(-1)!;
    block.variables = block.variables.filter((other) => other !== variable);
  }

  /** `try { …; if (f0) throw …; … } catch { out.push(-1); }`: an array that lives across the throw is freed in `finally`. */
  private caught(writing: Writing, nodes: Node[]): void {
    const name = this.name('x');
    const value = this.expression(writing);
    const inside: Node[] = [{ kind: 'line', parts: [`const ${name} = `, ...value, ';'] }];
    const block: Block = { variables: [{ name, takes: false }] };
    writing.blocks.push(block);
    const read =
      !this.words.async || writing.async
        ? [{ kind: 'line', parts: [...this.around(this.words.read, this.operand(writing, block.variables[0]!)), ';'] } as const]
        : [];
    writing.blocks.pop();
    const tried: Node[] = [{ kind: 'line', parts: [`if (${this.flag()}) throw new Error('stop');`] }, ...read];
    inside.push({ kind: 'block', open: ['try {'], body: tried, close: ['}'] });
    inside.push({
      kind: 'block',
      open: ['finally {'],
      body: [{ kind: 'line', parts: [this.guard('dispose', `${this.words.dispose(name)};`, '')] }],
      close: ['}'],
    });
    nodes.push({ kind: 'block', open: ['try {'], body: inside, close: ['}'] });
    nodes.push({ kind: 'block', open: ['catch {'], body: [line('out.push(-1);')], close: ['}'] });
  }

  /** `const x = tidy(() => { …; return y; });` */
  private scope(writing: Writing, nodes: Node[]): void {
    const { open, close } = this.words.scope!;
    const name = this.name('x');
    const guard = this.guards++;
    const opening: Guard = { id: guard, kind: 'scope', text: open, without: '' };
    const closing: Guard = { id: guard, kind: 'scope', text: close, without: '' };
    writing.scoped++;
    if (this.random.chance(0.5)) {
      const value = this.chain(writing, 2 + this.random.below(2));
      nodes.push({ kind: 'line', parts: [`const ${name} = `, opening, ...value, closing, ';'] });
    } else {
      const called: Guard = { id: guard, kind: 'scope', text: close, without: ')()' };
      const calling: Guard = { id: guard, kind: 'scope', text: open, without: '(() => ' };
      const body = this.block(writing, 1 + this.random.below(3));
      const value = this.chain(writing, 2);
      nodes.push({
        kind: 'block',
        open: [`const ${name} = `, calling, '{'],
        body: [...body, { kind: 'line', parts: ['return ', ...value, ';'] }],
        close: ['}', called, ';'],
      });
    }
    writing.scoped--;
    this.own(writing, this.ownedVariable(name));
  }

  /** `const t = { a: …, b: … };` used by member, freed as a whole or by member. */
  private tree(writing: Writing, nodes: Node[]): void {
    const name = this.name('t');
    nodes.push({
      kind: 'line',
      parts: [`const ${name} = { a: `, ...this.expression(writing), ', b: ', ...this.expression(writing), ' };'],
    });
    const whole = this.words.disposeTree !== undefined && this.random.chance(0.5);
    const members = [`${name}.a`, `${name}.b`];
    if (whole) {
      members.forEach((member) => this.own(writing, { name: member, takes: false }));
      this.own(writing, { name: `${name}.a`, takes: false, free: () => [this.guard('dispose', `${this.words.disposeTree!(name)};`, '')] });
    } else {
      members.forEach((member) => this.own(writing, { ...this.ownedVariable(member), takes: false }));
    }
  }

  /** A list that is filled, read and emptied. */
  private list(writing: Writing, nodes: Node[]): void {
    const name = this.name('l');
    const index = this.name('i');
    nodes.push(line(`const ${name}: ${this.words.type}[] = [];`));
    writing.blocks.push({ variables: [] });
    const value = this.expression(writing);
    writing.blocks.pop();
    nodes.push({
      kind: 'block',
      open: [`for (let ${index} = 0; ${index} < 2; ${index}++) {`],
      body: [{ kind: 'line', parts: [`${name}.push(`, ...value, ');'] }],
      close: ['}'],
    });
    const member = this.name('x');
    const whole = this.words.disposeTree !== undefined && this.random.chance(0.4);
    const free: Node[] = whole
      ? [{ kind: 'line', parts: [this.guard('dispose', `${this.words.disposeTree!(name)};`, '')] }]
      : [
          {
            kind: 'block',
            open: [`for (const ${member} of ${name}) {`],
            body: [{ kind: 'line', parts: [this.guard('dispose', `${this.words.dispose(member)};`, '')] }],
            close: ['}'],
          },
        ];
    nodes.push(...free);
  }

  /** `let x = …; for (…) { const next = f(x); x.dispose(); x = next; }` */
  private accumulate(writing: Writing, nodes: Node[]): void {
    const name = this.name('x');
    const index = this.name('i');
    nodes.push({ kind: 'line', parts: [`let ${name} = `, ...this.expression(writing), ';'] });
    const open = [`for (let ${index} = 0; ${index} < 3; ${index}++) {`];
    const operation = this.random.pick(this.words.unary);
    if (this.words.consumes) {
      nodes.push({ kind: 'block', open, body: [line(`${name} = ${operation(name)};`)], close: ['}'] });
    } else {
      const next = this.name('n');
      nodes.push({
        kind: 'block',
        open,
        body: [
          line(`const ${next} = ${operation(name)};`),
          { kind: 'line', parts: [this.guard('dispose', `${this.words.dispose(name)};`, '')] },
          line(`${name} = ${next};`),
        ],
        close: ['}'],
      });
    }
    this.own(writing, { ...this.ownedVariable(name), takes: false });
  }

  /** `const x = f0 ? make : undefined; … x?.dispose();` */
  private perhaps(writing: Writing, nodes: Node[]): void {
    const name = this.name('x');
    const flag = this.flag();
    nodes.push({ kind: 'line', parts: [`const ${name} = ${flag} ? `, this.words.make(1 + this.random.below(3)), ' : undefined;'] });
    if (!this.words.async || writing.async) {
      const used = this.words.consumes ? `${name}.ref` : name;
      nodes.push({
        kind: 'block',
        open: [this.random.chance(0.5) ? `if (${flag} && ${name} !== undefined) {` : `if (${name} !== undefined) {`],
        body: [line(`${this.words.read(used)};`)],
        close: ['}'],
      });
    }
    this.own(writing, { name: `${name}?`, takes: false, free: () => [this.guard('dispose', `${this.words.dispose(`${name}?`)};`, '')] });
  }

  /* ---- Expressions ------------------------------------------------------------------------------------------- */

  /** One operation on what is visible, or something new. Outside of scopes nothing in it is lost. */
  private expression(writing: Writing): Part[] {
    const variable = this.visible(writing);
    if (variable === undefined || this.random.chance(0.25)) return [this.words.make(1 + this.random.below(3))];
    if (this.helpers.length > 0 && this.random.chance(0.25)) {
      const helper = this.random.pick(this.helpers);
      if ((!helper.takesFirst || writing.scoped === 0) && this.lasting(writing) >= helper.parameters) return this.callOf(writing, helper);
    }
    if (this.words.consumes && this.random.chance(0.3)) return this.chain(writing, 2);
    if (this.random.chance(0.5)) return this.around(this.random.pick(this.words.unary), this.operand(writing, variable));
    const operation = this.random.pick(this.words.binary);
    const left = this.operand(writing, variable);
    return this.around2(operation, left, this.operand(writing, this.visible(writing)));
  }

  /** How many arrays can be named here. */
  private lasting(writing: Writing): number {
    return writing.blocks.flatMap(({ variables }) => variables).filter(({ name }) => !name.endsWith('?')).length;
  }

  private callOf(writing: Writing, helper: Helper): Part[] {
    const given = Array.from({ length: helper.parameters }, (_, index) =>
      index === 0 && helper.takesFirst && !this.words.consumes ? this.givenAway(writing) : this.operand(writing, this.visible(writing)),
    );
    return [`${helper.name}(`, ...given.flatMap((parts, index) => (index === 0 ? parts : [', ', ...parts])), ')'];
  }

  /** An argument that the callee frees: an array of this very block, or a new one. */
  private givenAway(writing: Writing): Part[] {
    const block = writing.blocks.at(-1)!;
    const candidates = block.variables.filter(({ takes, free }) => takes && free !== undefined);
    if (candidates.length === 0) return [this.words.make(2)];
    const variable = this.random.pick(candidates);
    block.variables = block.variables.filter((other) => other !== variable);
    return [variable.name];
  }

  /** Several operations in one expression: its intermediates are freed by a scope, or consumed. */
  private chain(writing: Writing, length: number): Part[] {
    let value: Part[] = this.operand(writing, this.visible(writing));
    for (let count = 0; count < length; count++) {
      value = this.random.chance(0.6)
        ? this.around(this.random.pick(this.words.unary), value)
        : this.around2(this.random.pick(this.words.binary), value, this.operand(writing, this.visible(writing)));
    }
    return value;
  }

  /** A use of a variable as an operand: taken for good where that is right, else borrowed. */
  private operand(writing: Writing, variable: Variable | undefined): Part[] {
    if (variable === undefined) return [this.words.make(1 + this.random.below(3))];
    if (!this.words.consumes) return [variable.name];
    const block = writing.blocks.at(-1);
    if (variable.takes && block?.variables.includes(variable) === true && this.random.chance(0.4)) {
      block.variables = block.variables.filter((other) => other !== variable);
      return [variable.name];
    }
    return [variable.name, this.guard('ref', '.ref', '')];
  }

  private around(operation: (x: string) => string, value: readonly Part[]): Part[] {
    const [before = '', after = ''] = operation('\u0000').split('\u0000');
    return [before, ...value, after];
  }

  private around2(operation: (x: string, y: string) => string, left: readonly Part[], right: readonly Part[]): Part[] {
    const [before = '', between = '', after = ''] = operation('\u0000', '\u0000').split('\u0000');
    return [before, ...left, between, ...right, after];
  }

  private visible(writing: Writing): Variable | undefined {
    const all = writing.blocks.flatMap(({ variables }) => variables).filter(({ name }) => !name.endsWith('?'));
    return all.length === 0 ? undefined : this.random.pick(all);
  }

  /* ---- Functions and classes --------------------------------------------------------------------------------- */

  /** A function that borrows its arguments (in jax-js: takes them) and returns a new array. */
  private helper(): void {
    const name = this.name('h');
    const parameters = 1 + this.random.below(2);
    const names = Array.from({ length: parameters }, () => this.name('p'));
    const writing: Writing = { blocks: [], async: false, pure: true, scoped: 0 };
    const takesFirst = this.words.consumes || this.random.chance(0.3);
    const given = names.map((parameter, index): Variable =>
      this.words.consumes || (takesFirst && index === 0)
        ? { ...this.ownedVariable(parameter), takes: this.words.consumes }
        : { name: parameter, takes: false },
    );
    const block: Block = { variables: given };
    writing.blocks.push(block);
    const body: Node[] = [];
    for (let count = this.random.below(3); count > 0; count--) this.statement(writing, body);
    const result = this.name('r');
    body.push({ kind: 'line', parts: [`const ${result} = `, ...this.expression(writing), ';'] });
    this.closeBlock(writing, block, body);
    body.push(line(`return ${result};`));
    const list = names.map((parameter) => `${parameter}: ${this.words.type}`).join(', ');
    this.top.push({ kind: 'block', open: [`function ${name}(${list}): ${this.words.type} {`], body, close: ['}'] });
    this.helpers.push({ name, parameters, takesFirst });
  }

  /** Every helper runs, so that what is wrong in it shows. */
  private callOnce(writing: Writing, helper: Helper, nodes: Node[]): void {
    for (let count = 0; count < helper.parameters; count++) {
      const operand = this.name('x');
      nodes.push(line(`const ${operand} = ${this.words.make(1)};`));
      this.own(writing, this.ownedVariable(operand));
    }
    const result = this.name('x');
    nodes.push({ kind: 'line', parts: [`const ${result} = `, ...this.callOf(writing, helper), ';'] });
    this.own(writing, this.ownedVariable(result));
  }

  /** A class that owns an array, replaces it, and frees it. */
  private holder(): string {
    const name = `Holder${this.names++}`;
    const { words } = this;
    const operation = this.random.pick(words.unary);
    const combine = this.random.pick(words.binary);
    const held = words.consumes ? ['this.held', this.guard('ref', '.ref', '')] : ['this.held'];
    const replace: Node[] = words.consumes
      ? [line(`this.held = ${operation('this.held')};`)]
      : [
          line(`const next = ${operation('this.held')};`),
          { kind: 'line', parts: [this.guard('dispose', `${words.dispose('this.held')};`, '')] },
          line('this.held = next;'),
        ];
    this.top.push({
      kind: 'block',
      plain: true,
      open: [`class ${name} {`],
      body: [
        line(`private held = ${words.make(2)};`),
        {
          kind: 'block',
          open: [`apply(x: ${words.type}): ${words.type} {`],
          body: [{ kind: 'line', parts: ['return ', ...this.around2(combine, ['x'], held), ';'] }],
          close: ['}'],
        },
        { kind: 'block', open: ['replace(): void {'], body: replace, close: ['}'] },
        {
          kind: 'block',
          open: ['dispose(): void {'],
          body: [{ kind: 'line', parts: [this.guard('dispose', `${words.dispose('this.held')};`, '')] }],
          close: ['}'],
        },
      ],
      close: ['}'],
    });
    return name;
  }

  private useHolder(writing: Writing, holder: string, nodes: Node[]): void {
    const name = this.name('o');
    nodes.push(line(`const ${name} = new ${holder}();`));
    this.own(writing, { name: `${name}?`, takes: false, free: () => [this.guard('dispose', `${name}.dispose();`, '')] });
    if (this.random.chance(0.6)) nodes.push(line(`${name}.replace();`));
    const result = this.name('x');
    nodes.push({ kind: 'line', parts: [`const ${result} = ${name}.apply(`, ...this.operand(writing, this.visible(writing)), ');'] });
    if (this.visible(writing) === undefined && !this.words.consumes) {
      nodes.pop();
      const operand = this.name('x');
      nodes.push(line(`const ${operand} = ${this.words.make(1)};`));
      this.own(writing, this.ownedVariable(operand));
      nodes.push(line(`const ${result} = ${name}.apply(${operand});`));
    }
    this.own(writing, this.ownedVariable(result));
  }

  private name(letter: string): string {
    return `${letter}${this.names++}`;
  }

  private flag(): string {
    const flag = `f${this.random.below(this.flags)}`;
    return this.random.chance(0.25) ? `!${flag}` : flag;
  }

  private guard(kind: GuardKind, text: string, without: string): Guard {
    return { id: this.guards++, kind, text, without };
  }
}

const line = (text: string): Node => ({ kind: 'line', parts: [text] });
