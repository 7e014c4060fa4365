import { searchWithin } from '../../runtime/plan/search.ts';
import { load } from './.x2.ts';
let seed=5; const rnd=()=>{seed=(Math.imul(seed,1664525)+1013904223)>>>0;return seed/4294967296};
const cap=1048576, T=+(process.argv[3]??5000);
const agg:Record<string,[number,number]>={};
for(const k of process.argv[2]??'GHE'){ const b=load(k+'.1048576.csv'); const loc:Record<string,[number,number]>={};
 for(const per of [1000,4000]){ const t0=cpu();
 while(cpu()-t0<T){
  const vk=['ways','level','slack','waysS','mix'][Math.floor(rnd()*5)]!; const bk=['area','width','bytes','awid'][Math.floor(rnd()*4)]!; const noise=[0.1,0.4,1][Math.floor(rnd()*3)]!;
  const valley:any={ways:(w:number,l:number)=>w*1e9+l,level:(w:number,l:number)=>l*1e3+w,slack:(w:number,l:number,s:number)=>s*1e3+w,waysS:(w:number,l:number,s:number)=>w*1e9+s,mix:(w:number,l:number,s:number)=>(s+1024)*w}[vk];
  const base:any={area:(x:number,w:number)=>x*w,width:(x:number,w:number)=>w*w*Math.sqrt(x),bytes:(x:number,w:number)=>x*Math.sqrt(w),awid:(x:number,w:number)=>x*w*w}[bk];
  const s=searchWithin(b,cap,{valley,buffer:(x:number,w:number)=>base(x,w)*Math.exp((rnd()-.5)*2*noise)});
  const t=cpu(); const o=s.advance(per); const dt=cpu()-t; for(const key of [per+' v '+vk,per+' b '+bk,per+' n '+noise,per+'']) for(const m of [agg,loc]){const e=m[key]??=[0,0]; e[1]+=dt; if(o==='found')e[0]++;}
 }}
 console.log(k,Object.keys(loc).sort().map(x=>`${x}:${loc[x]![0]}/${(loc[x]![1]/1000).toFixed(1)}s`).join('  '));
}
console.log(Object.keys(agg).sort().map(x=>`${x}: ${(agg[x]![0]/agg[x]![1]*1000).toFixed(2)}/s`).join('\n'));
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
