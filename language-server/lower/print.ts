/**
 * How a lowered function is read by people and by tests. Depends on: ir.
 */
import type { Callee, End, Event, Key, Local, LoweredFunction } from './ir.ts';

export function print(fn: LoweredFunction): string {
  const local = (id: Local): string => {
    const fact = fn.locals[id];
    return fact === undefined ? `%${id}?` : fact.name === undefined ? `%${id}` : fact.unique;
  };
  const lines = [
    `${fn.async ? 'async ' : ''}${fn.generator ? 'generator ' : ''}function ${fn.name === '' ? '(unnamed)' : fn.name}(${fn.parameters.map((p) => `${p.rest ? '...' : ''}${local(p.local)}${p.optional ? '?' : ''}`).join(', ')})`,
  ];
  for (const block of fn.blocks) {
    if (block.events.length === 0 && block.end.kind === 'unreachable') continue;
    lines.push(
      `  b${block.id}${block.loop === undefined ? '' : ` loop{${block.loop.join(' ')}}`}${block.handler === undefined ? '' : ` catches b${block.handler}`}:`,
    );
    for (const event of block.events) lines.push(`    ${printEvent(event, local)}`);
    lines.push(`    ${printEnd(block.end, local)}`);
  }
  return lines.join('\n');
}

const key = (k: Key, local: (id: Local) => string): string => (k.kind === 'name' ? `.${k.name}` : `[${local(k.local)}]`);

export function printCallee(callee: Callee): string {
  switch (callee.kind) {
    case 'library':
      return `${callee.library}:${callee.name}`;
    case 'user':
      return `user:${callee.function.slice(callee.function.indexOf('#') + 1)}`;
    case 'class':
      return `class:${callee.class.slice(callee.class.indexOf('#') + 1)}`;
    case 'value':
      return `value:${callee.name}`;
  }
}

function printEvent(event: Event, local: (id: Local) => string): string {
  const list = (ids: readonly Local[]): string => ids.map(local).join(', ');
  switch (event.kind) {
    case 'literal':
      return `${local(event.to)} = ${typeof event.value === 'bigint' ? `${event.value}n` : (JSON.stringify(event.value) ?? 'undefined')}`;
    case 'copy':
      return `${local(event.to)} = ${local(event.from)}`;
    case 'outer':
      return `${local(event.to)} = outer ${event.variable.function.slice(event.variable.function.indexOf('#'))} ${event.variable.name}`;
    case 'setOuter':
      return `outer ${event.variable.function.slice(event.variable.function.indexOf('#'))} ${event.variable.name} = ${local(event.from)}`;
    case 'external':
      return `${local(event.to)} = external ${event.library === undefined ? '' : `${event.library}:`}${event.name}`;
    case 'property':
      return `${local(event.to)} = ${local(event.object)}${key(event.key, local)}${event.callee === undefined ? '' : ` via ${printCallee(event.callee)}`}`;
    case 'setProperty':
      return `${local(event.object)}${key(event.key, local)} = ${local(event.from)}`;
    case 'delete':
      return `delete ${local(event.object)}${key(event.key, local)}`;
    case 'rest':
      return `${local(event.to)} = rest ${local(event.object)} ${event.start ?? `without ${(event.taken ?? []).join(', ')}`}`;
    case 'call': {
      const args = event.arguments.map((a) => `${a.spread ? '...' : ''}${local(a.local)}`).join(', ');
      const target =
        event.receiver !== undefined
          ? `${local(event.receiver)}${event.key === undefined ? '' : key(event.key, local)}`
          : event.function === undefined
            ? ''
            : local(event.function);
      return `${local(event.to)} = ${event.construct ? 'new ' : ''}${target}(${args}) -> ${printCallee(event.callee)}`;
    }
    case 'closure':
      return `${local(event.to)} = closure ${event.function.slice(event.function.indexOf('#') + 1)}`;
    case 'class':
      return `${local(event.to)} = class ${event.class.slice(event.class.indexOf('#') + 1)}`;
    case 'object':
      return `${local(event.to)} = { ${event.entries.map((e) => (e.kind === 'spread' ? `...${local(e.from)}` : `${key(e.key, local)}: ${local(e.value)}`)).join(', ')} }`;
    case 'array':
      return `${local(event.to)} = [${event.elements.map((e) => (e === undefined ? '' : `${e.spread ? '...' : ''}${local(e.local)}`)).join(', ')}]`;
    case 'template':
      return `${local(event.to)} = template ${list(event.values)}`;
    case 'unary':
      return `${local(event.to)} = ${event.operator} ${local(event.value)}`;
    case 'binary':
      return `${local(event.to)} = ${local(event.left)} ${event.operator} ${local(event.right)}`;
    case 'await':
      return `${local(event.to)} = await ${local(event.value)}`;
    case 'yield':
      return `${local(event.to)} = yield${event.delegate ? '*' : ''} ${event.value === undefined ? '' : local(event.value)}`;
    case 'iterate':
      return `${local(event.to)} = iterate ${event.over} ${local(event.from)}`;
    case 'dispose':
      return `dispose ${local(event.value)}`;
    case 'caught':
      return `${local(event.to)} = caught`;
    case 'enter':
      return `enter ${list(event.locals)}`;
    case 'exit':
      return `exit ${list(event.locals)}`;
    case 'opaque':
      return `${local(event.to)} = opaque ${event.what} ${list(event.operands)}`;
  }
}

function printEnd(end: End, local: (id: Local) => string): string {
  switch (end.kind) {
    case 'goto':
      return `goto b${end.target}`;
    case 'branch':
      return `if ${local(end.condition)} b${end.then} else b${end.else}`;
    case 'next':
      return `next ${local(end.to)} of ${local(end.iterator)} b${end.body} else b${end.done}`;
    case 'return':
      return end.value === undefined ? 'return' : `return ${local(end.value)}`;
    case 'throw':
      return `throw ${local(end.value)}`;
    case 'unreachable':
      return 'unreachable';
  }
}
