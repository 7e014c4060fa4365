import { searchWithin } from '../../runtime/plan/search.ts';
import { load } from './.x2.ts';
let seed=5; const rnd=()=>{seed=(Math.imul(seed,1664525)+1013904223)>>>0;return seed/4294967296};
const cap=+(process.argv[3]??1048576), per=+(process.argv[4]??2000), T=+(process.argv[5]??15000);
for(const k of process.argv[2]??'DGH'){ const b=load(k+'.1048576.csv'); const t0=cpu(); const ok:Record<string,number>={}, tot:Record<string,number>={}; let firstT=0;let nodes=0;
 while(cpu()-t0<T){
  const vk=['ways','level','slack','waysS'][Math.floor(rnd()*4)]!; const bk=['area','width','bytes'][Math.floor(rnd()*3)]!; const noise=rnd()<0.5?0.3:0.8;
  const valley:any={ways:(w:number,l:number)=>w*1e9+l,level:(w:number,l:number)=>l*1e3+w,slack:(w:number,l:number,s:number)=>s*1e3+w,waysS:(w:number,l:number,s:number)=>w*1e9+s}[vk];
  const base:any={area:(x:number,w:number)=>x*w,width:(x:number,w:number)=>w*w*Math.sqrt(x),bytes:(x:number,w:number)=>x*Math.sqrt(w)}[bk];
  const s=searchWithin(b,cap,{valley,buffer:(x:number,w:number)=>base(x,w)*Math.exp((rnd()-.5)*2*noise)});
  const o=s.advance(per); nodes+=per; const key=vk+'-'+bk+'-'+noise; tot[key]=(tot[key]??0)+1; if(o==='found'){ok[key]=(ok[key]??0)+1; firstT||=cpu()-t0}
  if(o==='impossible') console.log('impossible?!');
 }
 console.log(k,'first',firstT.toFixed(0),Object.keys(tot).sort().map(x=>x+':'+(ok[x]??0)+'/'+tot[x]).join(' '), (nodes/(cpu()-t0)).toFixed(0)+'k/s');
}
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
