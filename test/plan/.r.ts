import { order } from '../../runtime/compile/schedule.ts';
import { peakOf } from '../../runtime/compile/order/judge.ts';
import { treeOrder } from '../../runtime/compile/order/tree.ts';
import { wire } from '../../runtime/compile/order/walk.ts';
let seed=7; const rnd=(n:number)=>{seed=(Math.imul(seed,1103515245)+12345)&0x7fffffff;return (seed>>8)%n};
function brute(g:any):number{ // DP by enumerating orders w/ judge is costly; do recursion over orders
  let best=Infinity; const n=g.nodes.length; const avail=new Set(g.inputs.map((i:any)=>i.value)); const ord:number[]=[]; let cnt=0;
  const rec=()=>{ if(cnt>3000) return; if(ord.length===n){cnt++;best=Math.min(best,peakOf(g,ord));return}
   for(let v=0;v<n;v++){ if(ord.includes(v)||!g.nodes[v].reads.every((x:number)=>avail.has(x)))continue; ord.push(v); for(const m of g.nodes[v].makes)avail.add(m); rec(); ord.pop(); for(const m of g.nodes[v].makes)avail.delete(m);} };
  rec(); return cnt>3000?NaN:best;
}
let bad=0, done=0, treeN=0;
for(let k=0;k<1500;k++){
  const bytes:number[]=[]; const inputs:any[]=[]; const tree=rnd(3)===0;
  for(let i=0;i<1+rnd(3);i++){inputs.push({value:bytes.length,donated:rnd(2)===0});bytes.push(rnd(8));}
  const nodes:any[]=[]; const n=3+rnd(5); const used=new Set<number>();
  for(let i=0;i<n;i++){ const reads:number[]=[]; for(let j=0;j<1+rnd(3);j++){const v=rnd(bytes.length); if(tree&&used.has(v)) continue; reads.push(v);used.add(v)}
   const makes=[bytes.length]; bytes.push(rnd(8)); if(rnd(5)===0){makes.push(bytes.length);bytes.push(rnd(8))}
   const overwrites:any[]=[]; for(const m of makes)for(const r of reads) if(rnd(2)===0){bytes[m]=rnd(3)===0?bytes[m]!:bytes[r]!; overwrites.push({result:m,operand:r})}
   nodes.push({reads,makes,scratch:rnd(3),overwrites}); }
  const outputs:number[]=[]; for(let v=0;v<bytes.length;v++) if(rnd(5)===0) outputs.push(v);
  const g={bytes,inputs,nodes,outputs};
  const b=brute(g); if(Number.isNaN(b)) continue; done++;
  const s=order(g,{now:()=>performance.now(),until:performance.now()+500});
  const j=peakOf(g,s.order);
  const t=treeOrder(wire(g)); if(t){treeN++; if(peakOf(g,t)!==b) {console.log('TREE',peakOf(g,t),b,JSON.stringify(g)); bad++}}
  if(j!==s.peakBytes||!s.optimal||s.peakBytes!==b||s.orderLowerBoundBytes>b){console.log(b,j,s,JSON.stringify(g));bad++; if(bad>3)break}
}
console.log('done',done,'bad',bad,'trees',treeN);
