import { readFileSync, readdirSync } from 'node:fs';
import { order } from '../../runtime/compile/schedule.ts';
import { peakOf } from '../../runtime/compile/order/judge.ts';
for (const f of readdirSync('/work/main/test/plan/schedule')) { const g=JSON.parse(readFileSync('/work/main/test/plan/schedule/'+f,'utf8'));
 const ids=new Map<string,number>(); const bytes:number[]=[]; const add=(id:string,b:number)=>{ids.set(id,bytes.length);bytes.push(b);return bytes.length-1};
 const inputs=g.inputs.map((i:any)=>({value:add(i.id,i.size),donated:i.donated}));
 const nodes=g.nodes.map((n:any)=>{const reads=n.in.map((x:string)=>ids.get(x)); const r=add(n.id,n.size); return {reads,makes:[r],scratch:n.scratch??0,overwrites:(n.inPlace??[]).map((x:string)=>({result:r,operand:ids.get(x)}))}});
 const graph={bytes,inputs,nodes,outputs:g.outputs.map((x:string)=>ids.get(x))};
 const t=performance.now(); const s=order(graph as any,{now:()=>performance.now(),until:t+1000}); const ms=performance.now()-t;
 console.log(f,s.peakBytes,g.optimalPeak,s.orderLowerBoundBytes,s.optimal,s.by,peakOf(graph as any,s.order),ms.toFixed(1));
}
