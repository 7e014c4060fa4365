import { searchWithin } from '../../runtime/plan/search.ts';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { load } from './.x2.ts';
let seed=5; const rnd=()=>{seed=(Math.imul(seed,1664525)+1013904223)>>>0;return seed/4294967296};
const T=1500;
for(const ratio of [1,1.02,1.05,1.1]) for(const extra of [50,200,700]){ let line=`r ${ratio} +${extra}: `; let rateSum=0;
 for(const k of 'ACDGHIK'){ const b=load(k+'.1048576.csv'); const cap=Math.floor((ratio===1?1048576:leastBytes(b)*ratio)); let ok=0,tot=0; const t0=cpu();
 while(cpu()-t0<T){
  const vk=['ways','level','waysS'][Math.floor(rnd()*3)]!; const bk=['area','width','bytes'][Math.floor(rnd()*3)]!;
  const valley:any={ways:(w:number,l:number)=>w*1e9+l,level:(w:number,l:number)=>l*1e3+w,slack:(w:number,l:number,s:number)=>s*1e3+w,waysS:(w:number,l:number,s:number)=>w*1e9+s}[vk];
  const base:any={area:(x:number,w:number)=>x*w,width:(x:number,w:number)=>w*w*Math.sqrt(x),bytes:(x:number,w:number)=>x*Math.sqrt(w)}[bk];
  const s=searchWithin(b,cap,{valley,buffer:(x:number,w:number)=>base(x,w)*Math.exp((rnd()-.5)*2*.4)});
  const o=s.advance(b.length+extra); tot++; if(o==='found')ok++;
 } const dt=cpu()-t0; rateSum+=ok/dt*1000; line+=` ${k} ${ok}/${tot}(${(dt/tot).toFixed(0)}ms)`; }
 console.log(line);
}
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
